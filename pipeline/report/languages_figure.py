"""*Lessons*, Figure 3: retrieval in two languages by models of one, two and four languages, as SVG."""

from html import escape
from pathlib import Path

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.common.rounding import tenths
from pipeline.report.charts import axis, ticks
from pipeline.tables.result_files import read_result

METRICS = {"s2i_R@10": "text to image", "i2s_R@10": "image to text"}
NAMES = {"en": "English", "de": "German"}
PANEL, HEIGHT, LEFT, TOP, BOTTOM = 250, 240, 44, 34, 44  # in SVG units
# Colours that people with any colour vision tell apart (Okabe and Ito 2008).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")


def draw_languages(comparison: Path, output: Path) -> None:
    """Write Figure 3 from the output of `tabulate`: a panel per direction, a group of bars per language.

    A bar is the mean of the seeds, with the 95% interval of the comparison. Rows in a section (those that
    follow the published code) are not drawn.

    Args:
        comparison: output of `tabulate`, one number per line: section, method, language, metric, measured,
            low, high, scale and seeds.
        output: SVG to write.
    """
    numbers = read_result(comparison, "the comparison", "Run `tabulate`.")
    cells = numbers[numbers["metric"].isin(METRICS) & numbers["section"].isna()]
    _, highest = axis(0, float(cells["high"].max()))
    methods = list(dict.fromkeys(cells["method"]))
    panels = [
        _panel(cells[cells["metric"] == metric], title, methods, highest, 10 + place * (PANEL + 20))
        for place, (metric, title) in enumerate(METRICS.items())
    ]
    width = 10 + len(METRICS) * (PANEL + 20)
    caption = f"R@10 in percent, scale {cells['scale'].iloc[0]}, {int(cells['seeds'].iloc[0])} seeds"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 40}" width="{width}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" role="img" '
        f'aria-label="{escape(caption)}">'
        f"{''.join(panels)}{_legend(methods, HEIGHT + 14)}"
        f'<text x="{LEFT}" y="{HEIGHT + 34}">{escape(caption)}</text></svg>\n'
    )
    with atomic_write(output) as temporary:
        temporary.write_text(svg, encoding="utf-8")


def _panel(numbers: pd.DataFrame, title: str, methods: list[str], highest: float, left: float) -> str:
    """The bars of one direction, each `rect` with its value and interval as title."""
    languages = list(dict.fromkeys(numbers["language"]))
    bottom, tall = HEIGHT - BOTTOM, HEIGHT - TOP - BOTTOM
    group = (PANEL - LEFT) / len(languages)
    wide = group / (len(methods) + 1)
    parts = [f'<text x="{left + LEFT}" y="{TOP - 14}" font-weight="bold">{escape(title)}</text>']
    for value in ticks(0, highest, 5):
        y = bottom - tall * value / highest
        parts.append(
            f'<line x1="{left + LEFT}" x2="{left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            f'opacity="0.2"/><text x="{left + LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    for place, language in enumerate(languages):
        start = left + LEFT + place * group + wide / 2
        name = escape(NAMES.get(language, language))
        parts.append(
            f'<text x="{start + (group - wide) / 2:.1f}" y="{bottom + 18}" text-anchor="middle">{name}</text>'
        )
        of_language = numbers[numbers["language"] == language].set_index("method")
        for number, method in enumerate(method for method in methods if method in of_language.index):
            cell = of_language.loc[method]
            up = [bottom - tall * float(cell[key]) / highest for key in ("measured", "low", "high")]
            x = start + number * wide
            value_text, low, high = (tenths(cell[key]) for key in ("measured", "low", "high"))
            text = f"{method}, {name}: {value_text} ({low} to {high})"
            parts.append(
                f'<rect x="{x:.1f}" y="{up[0]:.1f}" width="{wide * 0.9:.1f}" height="{bottom - up[0]:.1f}" '
                f'fill="{COLOURS[methods.index(method) % len(COLOURS)]}"><title>{escape(text)}</title></rect>'
                f'<line x1="{x + wide * 0.45:.1f}" x2="{x + wide * 0.45:.1f}" y1="{up[1]:.1f}" '
                f'y2="{up[2]:.1f}" stroke="currentColor"/>'
            )
    return "".join(parts)


def _legend(methods: list[str], y: float) -> str:
    return "".join(
        f'<rect x="{LEFT + 130 * place}" y="{y - 9}" width="10" height="10" '
        f'fill="{COLOURS[place % len(COLOURS)]}"/>'
        f'<text x="{LEFT + 130 * place + 15}" y="{y}">{escape(method)}</text>'
        for place, method in enumerate(methods)
    )
