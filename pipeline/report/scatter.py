"""Points of recall against size as one SVG file, one panel per data set (SMALR, Figures 1b and 3)."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.common.rounding import tenths
from pipeline.report.charts import axis, ticks
from pipeline.tables.result_files import read_result
from pipeline.tables.settings import ScalingAxes

WIDTH, HEIGHT = 380, 300  # size of a panel in SVG units
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 30, 44
KEY = 22  # height of a line of the key
COLOURS = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e"]
STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}.grid{stroke:#ddd}.bar{stroke-width:1}"
    ".path{fill:none;stroke-width:1;opacity:.5}circle{fill-opacity:.6}"
)
ACROSS = {"parameters": "trainable parameters, millions", "languages": "languages that it was trained on"}


def draw_scaling(settings: ScalingAxes, points: Path, output: Path) -> None:
    """Draw the points of a figure.

    Args:
        settings: JSON: `figure`. `across`: what the horizontal axis shows, parameters or languages. `area`:
            `parameters` if a point's area is (parameters / 10^6)^1.5.
        points: output of `measure-scaling`.
        output: SVG to write.
    """
    table = read_result(points, "the points", "Run `python -m pipeline measure-scaling`.")
    table["label"] = table["label"].fillna("")
    series = list(dict.fromkeys(table["series"]))
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(series)}
    panels = [_panel(part, settings, colours) for _, part in table.groupby("dataset", sort=False)]
    height = HEIGHT + KEY * math.ceil(len(series) / 4)
    groups = [
        f'<g transform="translate({WIDTH * place},0)">{panel}</g>' for place, panel in enumerate(panels)
    ]
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {height}" role="img" '
        f'aria-label="SMALR, Figure {escape(str(settings.figure))}"><style>{STYLE}</style>'
        f"{''.join(groups)}{''.join(_key(colours))}</svg>\n"
    )
    with atomic_write(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _panel(table: pd.DataFrame, settings: ScalingAxes, colours: Mapping[str, str]) -> str:
    """One data set's points; the points of a series are joined in their order."""
    by_size = settings.across == "parameters"
    places = table["parameters"] / 1e6 if by_size else table["languages"].astype(float)
    x_low, x_high = axis(0.0, float(places.max()))
    y_low, y_high = axis(float(table["low"].min()), float(table["high"].max()))
    across, up = (WIDTH - LEFT - RIGHT) / (x_high - x_low), (HEIGHT - TOP - BOTTOM) / (y_high - y_low)
    table = table.assign(
        x=[LEFT + (value - x_low) * across for value in places],
        y=HEIGHT - BOTTOM - (table["mR"] - y_low) * up,
        top=HEIGHT - BOTTOM - (table["high"] - y_low) * up,
        bottom=HEIGHT - BOTTOM - (table["low"] - y_low) * up,
        radius=[radius(count, settings.area) for count in table["parameters"]],
    )
    grid = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        for value in ticks(y_low, y_high, 6)
        for y in [HEIGHT - BOTTOM - (value - y_low) * up]
    ]
    below = [
        _text(LEFT + (value - x_low) * across, HEIGHT - BOTTOM + 16, f"{value:g}")
        for value in ticks(x_low, x_high, 6)
    ]
    words = [
        f'<text class="title" x="{LEFT}" y="16">{escape(str(table["dataset"].iloc[0]))}: mR, mean over '
        f"{len(table['averaged'].iloc[0].split())} languages</text>",
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, ACROSS[settings.across]),
    ]
    parts = [
        piece
        for number, (name, part) in enumerate(table.groupby("series", sort=False))
        for piece in _series(part, colours[str(name)], above=number % 2 == 0)
    ]
    return "".join([*grid, *below, *words, *parts])


def _series(part: pd.DataFrame, colour: str, above: bool) -> Iterator[str]:
    """The points of a series; their labels are above or below their intervals, neighbours at two heights."""
    points = part.sort_values("x")
    line = " ".join(f"{row.x:.1f},{row.y:.1f}" for row in points.itertuples())
    yield f'<polyline class="path" stroke="{colour}" points="{line}"/>'
    last, shift = -math.inf, 0
    for row in points.itertuples():
        title = f"{row.series} {row.label}".strip()
        title += (
            f": mR {tenths(row.mR)} ({tenths(row.low)} to {tenths(row.high)}), {row.parameters:,} parameters"
        )
        ends = f'x1="{row.x:.1f}" x2="{row.x:.1f}" y1="{row.top:.1f}" y2="{row.bottom:.1f}"'
        yield f'<line class="bar" stroke="{colour}" {ends}/>'
        yield (
            f'<circle fill="{colour}" cx="{row.x:.1f}" cy="{row.y:.1f}" r="{row.radius:.2f}">'
            f"<title>{escape(title)}</title></circle>"
        )
        if row.label:
            shift = 11 - shift if row.x - last < 16 else 0
            yield _text(row.x, row.top - 3 - shift if above else row.bottom + 11 + shift, row.label)
            last = row.x


def _text(x: float, y: float, text: str) -> str:
    """A text with its middle at x."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'


def radius(parameters: int, area: str) -> float:
    """Radius of a point in SVG units: 4, or so that its area is (parameters / 10^6)^1.5."""
    return math.sqrt((parameters / 1e6) ** 1.5 / math.pi) if area == "parameters" else 4.0


def _key(colours: Mapping[str, str]) -> Iterator[str]:
    for number, (name, colour) in enumerate(colours.items()):
        x, y = LEFT + 170 * (number % 4), HEIGHT + KEY * (number // 4) + 8
        yield f'<circle fill="{colour}" cx="{x}" cy="{y}" r="4"/>'
        yield f'<text x="{x + 8}" y="{y + 4}">{escape(name)}</text>'
