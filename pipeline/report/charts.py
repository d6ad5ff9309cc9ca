"""Small charts as inline SVG and HTML: colours come from the page's style, so they follow dark and light."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
from markupsafe import Markup

WIDTH, HEIGHT = 260, 130  # size of a panel in SVG units
LEFT, TOP, BOTTOM = 28, 8, 18


def curves(lines: Mapping[str, Sequence[pd.Series]], highest: float, title: str) -> Markup:
    """A panel of curves: one colour per language, one line per seed.

    Args:
        lines: for each language and seed percentages by validation (the index, from 1).
        highest: upper end of the vertical axis, in percent.
        title: what a screen reader says.
    """
    last = max(float(one.index.max()) for each in lines.values() for one in each)
    across = (WIDTH - LEFT - 6) / max(1.0, last - 1)
    up = (HEIGHT - TOP - BOTTOM) / highest

    def points(one: pd.Series) -> str:
        return " ".join(
            f"{LEFT + (number - 1) * across:.1f},{HEIGHT - BOTTOM - value * up:.1f}"
            for number, value in one.items()
        )

    parts = [
        f'<polyline class="line l-{language}" points="{points(one)}"/>'
        for language, each in lines.items()
        for one in each
    ]
    grid = [_level(value, HEIGHT - BOTTOM - value * up) for value in ticks(0, highest, 4)]
    ends = [
        f'<text x="{LEFT}" y="{HEIGHT - 4}">1</text>',
        f'<text x="{WIDTH - 6}" y="{HEIGHT - 4}" text-anchor="end">validation {last:.0f}</text>',
    ]
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(grid)}{''.join(parts)}{''.join(ends)}</svg>"
    )


def intervals(rows: Sequence[Mapping[str, Any]], low: float, high: float) -> list[dict[str, object]]:
    """Positions of a row's dot and error bar between the ends of the axis, in percent of its length.

    Args:
        rows: `label`, `measured`, `low`, `high`. low, high: ends of the axis.
    """

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    return [
        {
            **row,
            "dot": place(row["measured"]),
            "from": place(row["low"]),
            "width": round(place(row["high"]) - place(row["low"]), 2),
        }
        for row in rows
    ]


def axis(low: float, high: float) -> tuple[float, float]:
    """Ends of an axis around values, at round numbers."""
    step = _step((high - low) or 1.0, 6)
    lowest = math.floor(low / step)
    return step * lowest, step * max(math.ceil(high / step), lowest + 1)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two ends, `most` + 1 at most."""
    step = _step(high - low, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * number, 6) for number in range(first, last + 1)]


def _step(length: float, most: int) -> float:
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)
    return next(step for step in steps if length / step <= most)


def _level(value: float, y: float) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 6}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">{value:g}</text>'
    )
