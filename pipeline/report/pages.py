"""Pages from templates: everything escaped, style inside, nothing fetched, so that a page opens offline."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.common.rounding import tenths
from pipeline.datasets.languages import name_of

TEMPLATES = Path(__file__).parent / "templates"


def write_page(output: Path, template: str, values: Mapping[str, object]) -> None:
    """Render a template into a page, whole or not at all; a value that is missing is an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "language": name_of,
        "tenths": tenths,
        "difference": difference,
        "html": html_table,
    }
    with atomic_write(output) as temporary:
        temporary.write_text(environment.get_template(template).render(**values), encoding="utf-8")


def html_table(table: pd.DataFrame, caption: str, kind: str = "small", index: bool = False) -> Markup:
    """A table that scrolls sideways in a box; cells of `Markup` stay as they are.

    Args:
        kind: its class in the style sheet. index: whether its index is shown.
    """
    escaped = table.map(escape).rename(columns=escape, index=escape)
    with pd.option_context("display.max_colwidth", None):
        html = escaped.to_html(border=0, classes=kind, index=index, escape=False)
    titled = html.replace("<thead>", Markup("<caption>{}</caption><thead>").format(caption), 1)
    return Markup(f'<div class="box" tabindex="0">{titled}</div>')


def difference(value: float) -> str:
    """A signed number to the tenth; with more digits if it would be rounded to zero, to show its sign."""
    text = tenths(value, sign=True)
    if float(text) == 0 and value != 0:
        text = f"{value:+.1g}"
    return text.replace("-", "−")


def main_of(page: Path) -> str:
    """The content of <main> of one of our pages, to be shown in another page."""
    require_file(page, "the page", "Make it first.")
    match = re.search(r"<main>(.*)</main>", page.read_text(encoding="utf-8"), re.DOTALL)
    if not match:
        raise InputError(f"{page}: not a page of this project (it has no <main>). Make it again.")
    return match[1]
