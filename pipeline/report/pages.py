"""Pages from templates: everything escaped, style inside, nothing fetched, so that a page opens offline."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.common.rounding import tenths

TEMPLATES = Path(__file__).parent / "templates"

LANGUAGES = {  # in the papers' order
    "en": "English",
    "de": "German",
    "fr": "French",
    "cs": "Czech",
    "zh": "Chinese",
    "ja": "Japanese",
    "ar": "Arabic",
    "af": "Afrikaans",
    "ko": "Korean",
    "ru": "Russian",
}


def write_page(output: Path, template: str, values: dict[str, Any], **filters: Callable[[str], str]) -> None:
    """Render a template into a page, whole or not at all; a value that is missing is an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "language": lambda code: LANGUAGES.get(code, code),
        "tag": language_tag,
        "tenths": tenths,
        "difference": difference,
        **filters,
    }
    with atomic_write(output) as temporary:
        temporary.write_text(environment.get_template(template).render(values), encoding="utf-8")


def difference(value: float | None) -> str:
    """A signed number to the tenth; one that would be zero but is not has more digits, to show its sign."""
    if value is None:
        return "–"
    said = tenths(value, sign=True)
    if float(said) == 0 and value != 0:
        said = f"{value:+.1g}"
    return said.replace("-", "−")


def language_tag(code: str) -> str:
    """The value of `lang`, by which a browser picks fonts; the data sets' Chinese is simplified."""
    return "zh-Hans" if code == "zh" else code


def main_of(page: Path) -> str:
    """What stands within <main> of a page of ours, to be shown in another."""
    require_file(page, "the page", "Make it first.")
    found = re.search(r"<main>(.*)</main>", page.read_text(encoding="utf-8"), re.DOTALL)
    if not found:
        raise InputError(f"{page}: no page of this project (it has no <main>). Make it again.")
    return found[1]
