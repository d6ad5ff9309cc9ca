"""Claims about the size of the data, judged by our own counts (`data.count_captions`, counts.csv).

A row of the counts has the images of a split that are captioned in exactly some languages, and one of these
languages with its descriptions of them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

Row = dict[str, Any]

TOLERANCE = 1e-9
COUNT = {
    **dict.fromkeys(("count", "in", "split", "language"), str),
    **dict.fromkeys(("about", "within", "above", "below"), float),
}
_KEYS_OF_CLAIMS = ("about", "above", "below")


def _images(counts: pd.DataFrame) -> float:
    """Images, each counted once however many languages caption it."""
    return float(counts.drop_duplicates(["split", "captioned_in"])["images"].sum())


def _descriptions(counts: pd.DataFrame) -> float:
    return float(counts["descriptions"].sum())


def _in(counts: pd.DataFrame, language: str) -> pd.DataFrame:
    return counts[counts["language"] == language] if language else counts


def _in_all(counts: pd.DataFrame, language: str) -> float:
    """Images that are captioned in every language of the data set."""
    return _images(counts[counts["captioned_in"] == " ".join(sorted(counts["language"].unique()))])


def _share_alone(counts: pd.DataFrame, language: str) -> float:
    """Images that are captioned in only one language, in percent of all images."""
    return 100 * _images(counts[counts["captioned_in"] == language]) / _images(counts)


def _share_own(counts: pd.DataFrame, language: str) -> float:
    """A language's own descriptions, in percent of these plus one translation of each English description."""
    own, of_english = (_descriptions(_in(counts, code)) for code in (language, "en"))
    return 100 * own / (own + of_english)


QUANTITIES: dict[str, Callable[[pd.DataFrame, str], float]] = {
    "images": lambda counts, language: _images(_in(counts, language)),
    "descriptions": lambda counts, language: _descriptions(_in(counts, language)),
    "descriptions_per_image": lambda counts, language: (
        _descriptions(_in(counts, language)) / _images(_in(counts, language))
    ),
    "images_in_all_languages": _in_all,
    "percent_of_images_in_this_language_alone": _share_alone,
    "percent_of_descriptions_not_translated": _share_own,
}


def judge_count(statement: Mapping[str, Any], counts: pd.DataFrame) -> Row:
    """One statement about a count as a line of the comparisons: our count, the claimed one, and the verdict.

    Args:
        stated: `count`, one of `QUANTITIES`; `in`, the paper's data set; `split` and `language`, by default
            all; `about` with `within`, `above` or `below`, what is claimed.
        counts: of this data set.
    """
    language, split = statement.get("language", ""), statement.get("split", "")
    value = QUANTITIES[statement["count"]](counts[counts["split"] == split] if split else counts, language)
    label = " ".join(filter(None, [statement["count"], language, split]))
    target = next(statement[key] for key in _KEYS_OF_CLAIMS if key in statement)
    ours = {"measured_greater": value, "measured_than": target, "difference": value - target}
    if "below" in statement:
        reverse = {"measured_greater": target, "measured_than": value, "difference": target - value}
        good = target - value > TOLERANCE
        return {"greater": "claimed, above", "than": label, **reverse, "as_claimed": good}
    if "above" in statement:
        good = value - target > TOLERANCE
        return {"greater": label, "than": "claimed, below", **ours, "as_claimed": good}
    good = abs(value - target) <= statement["within"] + TOLERANCE
    return {"greater": label, "than": f"claimed, within {statement['within']}", **ours, "as_claimed": good}


def count_mistakes(where: str, statement: Mapping[str, Any]) -> Iterator[str]:
    """The mistakes in a statement about a count."""
    wrong = (set(statement) - set(COUNT)) | ({"count", "in"} - set(statement))
    if wrong:
        yield f"{where}: keys unknown or missing: {', '.join(sorted(map(str, wrong)))}"
        return
    if statement["count"] not in QUANTITIES:
        yield f"{where}.count: found {statement['count']!r}, expected one of {', '.join(QUANTITIES)}"
    if len(set(_KEYS_OF_CLAIMS) & set(statement)) != 1 or ("about" in statement) != ("within" in statement):
        yield f"{where}: expected `about` and `within`, or `above`, or `below`"
