"""The providers of the translations behind a number, as shown to the reader."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

DICTIONARY = "dictionary"  # origin of word-by-word translations


def provider_label(providers: Iterable[str]) -> str:
    """The providers of some translations: `dictionary (word by word), google`; empty without translations."""
    return ", ".join(f"{one} (word by word)" if one == DICTIONARY else one for one in sorted(providers))


def word_by_word(providers: Set[str]) -> str:
    """`yes` if some of the translations were made word by word, else empty."""
    return "yes" if DICTIONARY in providers else ""


def translation_columns(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The translation columns of a table, line by line.

    `translations`: the providers of the translations of the line's row, empty if it has none. `word_by_word`:
    `yes` if some translations behind the line are word by word.

    Args:
        lines: `row`, number of the row; `providers`, of the line's translations.
    """
    lines = list(lines)
    rows: dict[Any, set[str]] = {}
    for line in lines:
        rows.setdefault(line["row"], set()).update(line["providers"])
    return [
        {
            "translations": provider_label(rows[line["row"]]) if line["providers"] else "",
            "word_by_word": word_by_word(line["providers"]),
        }
        for line in lines
    ]
