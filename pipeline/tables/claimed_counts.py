"""Claims about the size of the data, judged by our own counts (`data.count_captions`, counts.csv).

A row of the counts has the images of a split that are captioned in exactly some languages, and one of these
languages with its descriptions of them.
"""

from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from pipeline.common.block import Block

Row = dict[str, Any]
Quantity = Literal[
    "images",
    "descriptions",
    "descriptions_per_image",
    "images_in_all_languages",
    "percent_of_images_in_this_language_alone",
    "percent_of_descriptions_not_translated",
]

TOLERANCE = 1e-9


class CountStatement(Block):
    """A count of the data that a paper states; config/claims/mule.yaml says what the keys mean."""

    count: Quantity
    dataset: str = Field(alias="in")
    split: str = ""
    language: str = ""
    about: float | None = None
    within: float | None = None
    above: float | None = None
    below: float | None = None

    def contradictions(self) -> Iterator[str]:
        """Not exactly one thing is claimed."""
        claimed = sum(value is not None for value in (self.about, self.above, self.below))
        if claimed != 1 or (self.about is None) != (self.within is None):
            yield ": expected `about` and `within`, or `above`, or `below`"


def judge_count(statement: CountStatement, counts: pd.DataFrame) -> Row:
    """One statement about a count as a line of the comparisons: our count, the claimed one, and the verdict.

    Args:
        counts: of this data set.
    """
    of_split = counts[counts["split"] == statement.split] if statement.split else counts
    value = _quantity(statement.count, of_split, statement.language)
    target: float
    if statement.about is not None:
        target, margin = statement.about, statement.within or 0.0
        claimed, good = f"within {margin:g}", abs(value - target) <= margin + TOLERANCE
    elif statement.above is not None:
        target = statement.above
        claimed, good = "above", value > target + TOLERANCE
    else:
        target = statement.below or 0.0
        claimed, good = "below", value < target - TOLERANCE
    return {
        "greater": " ".join(filter(None, [statement.count, statement.language, statement.split])),
        "than": f"claimed, {claimed}",
        "measured_greater": value,
        "measured_than": target,
        "difference": value - target,
        "as_claimed": good,
    }


def _quantity(name: Quantity, counts: pd.DataFrame, language: str) -> float:
    """A count of the captions in a language, or in all; shares are in percent."""
    own = counts[counts["language"] == language] if language else counts
    images, descriptions = _images(own), float(own["descriptions"].sum())
    match name:
        case "images":
            return images
        case "descriptions":
            return descriptions
        case "descriptions_per_image":
            return descriptions / images
        case "images_in_all_languages":
            return _images(counts[counts["captioned_in"] == " ".join(sorted(counts["language"].unique()))])
        case "percent_of_images_in_this_language_alone":
            return 100 * _images(counts[counts["captioned_in"] == language]) / _images(counts)
        case "percent_of_descriptions_not_translated":
            # Each English description has one translation.
            english = counts.loc[counts["language"] == "en", "descriptions"].sum()
            return float(100 * descriptions / (descriptions + english))


def _images(counts: pd.DataFrame) -> float:
    """Images, each counted once however many languages caption it."""
    return float(counts.drop_duplicates(["split", "captioned_in"])["images"].sum())
