"""Claims about the size of the data, judged by our own counts (`data.count_captions`, counts.csv).

A row of the counts has the images of a split that are captioned in exactly some languages, and one of these
languages with its descriptions of them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from pydantic import Field

from pipeline.common.block import Block

Row = dict[str, Any]

TOLERANCE = 1e-9


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


class CountStatement(Block):
    """A count of the data that a paper states; config/claims/mule.yaml says what the keys mean."""

    count: str
    dataset: str = Field(alias="in")
    split: str = ""
    language: str = ""
    about: float | None = None
    within: float | None = None
    above: float | None = None
    below: float | None = None

    def contradictions(self) -> Iterator[str]:
        """An unknown count, or not exactly one thing is claimed of it."""
        if self.count not in QUANTITIES:
            yield f".count: found {self.count!r}, expected one of {', '.join(QUANTITIES)}"
        claimed = sum(value is not None for value in (self.about, self.above, self.below))
        if claimed != 1 or (self.about is None) != (self.within is None):
            yield ": expected `about` and `within`, or `above`, or `below`"


def judge_count(statement: CountStatement, counts: pd.DataFrame) -> Row:
    """One statement about a count as a line of the comparisons: our count, the claimed one, and the verdict.

    Args:
        counts: of this data set.
    """
    of_split = counts[counts["split"] == statement.split] if statement.split else counts
    value = QUANTITIES[statement.count](of_split, statement.language)
    label = " ".join(filter(None, [statement.count, statement.language, statement.split]))
    if statement.below is not None:
        gap = statement.below - value
        sides = {"measured_greater": statement.below, "measured_than": value, "difference": gap}
        return {"greater": "claimed, above", "than": label, **sides, "as_claimed": gap > TOLERANCE}
    if statement.above is not None:
        claimed, target = "below", statement.above
        good = value - target > TOLERANCE
    else:
        assert statement.about is not None and statement.within is not None
        claimed, target = f"within {statement.within:g}", statement.about
        good = abs(value - target) <= statement.within + TOLERANCE
    sides = {"measured_greater": value, "measured_than": target, "difference": value - target}
    return {"greater": label, "than": f"claimed, {claimed}", **sides, "as_claimed": good}
