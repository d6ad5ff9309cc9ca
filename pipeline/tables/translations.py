"""The providers of the translations behind a number, as shown to the reader."""

from collections.abc import Iterable, Mapping
from typing import Any

DICTIONARY = "dictionary"  # origin of word-by-word translations

Origins = Mapping[str, Iterable[str]]  # who made the translations of each pair of languages (`en-de`)


def provider_label(origins: Origins) -> str:
    """The providers of some translations: `google`, or `en-zh: google; others: dictionary (word by word)`.

    Language pairs are named where they differ; the largest group with the same provider is `others`. If
    several providers translated one pair, all are named: `en-zh: baidu and google`. Empty without
    translations.
    """
    alike: dict[str, list[str]] = {}
    for pair in sorted(origins):
        alike.setdefault(" and ".join(map(_provider_label, sorted(origins[pair]))), []).append(pair)
    if len(alike) < 2:
        return "".join(alike)
    *few, (most, others) = sorted(alike.items(), key=lambda item: len(item[1]))
    of_pair = "others" if len(others) > 1 else others[0]
    return "; ".join([*(f"{', '.join(pairs)}: {who}" for who, pairs in few), f"{of_pair}: {most}"])


def merged_origins(many: Iterable[Origins]) -> dict[str, set[str]]:
    """Who made some translations, of several numbers together."""
    merged: dict[str, set[str]] = {}
    for origins in many:
        for pair, made_by in origins.items():
            merged.setdefault(pair, set()).update(made_by)
    return merged


def word_by_word(origins: Origins) -> bool:
    """Whether some of the translations were made word by word."""
    return any(DICTIONARY in made_by for made_by in origins.values())


def translation_columns(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The translation columns of a table, line by line.

    `translations`: the providers of the translations of the line's row, empty if it has none. `word_by_word`:
    `yes` if some translations behind the line are word by word.

    Args:
        lines: `row`, number of the row; `origins`, of the line (`Origins`).
    """
    lines = list(lines)
    rows: dict[Any, list[Origins]] = {}
    for line in lines:
        rows.setdefault(line["row"], []).append(line["origins"])
    return [
        {
            "translations": provider_label(merged_origins(rows[line["row"]])) if line["origins"] else "",
            "word_by_word": "yes" if word_by_word(line["origins"]) else "",
        }
        for line in lines
    ]


def _provider_label(origin: str) -> str:
    return f"{origin} (word by word)" if origin == DICTIONARY else origin
