"""Unintended differences between the trainings of two systems: steps, pretraining, and groups of images."""

from collections.abc import Iterable, Sequence

import pandas as pd

from pipeline.tables.evaluations import Evaluations, Key

CONFOUNDERS = {
    "unequal_steps": "different numbers of training steps",
    "unequal_pretraining": "different numbers of epochs of pretraining",
    "unequal_groups": "grouped with ungrouped batches of images",
}


def confounders(evaluations: Evaluations, sides: Sequence[Iterable[Key]]) -> dict[str, str]:
    """The columns of `CONFOUNDERS`: numbers of both sides, `6440 against 1280`, or empty if all are equal.

    Args:
        evaluations: of every seed of the models.
        sides: keys of the models of each side of a comparison. A side has several if a gain is compared with
            a gain; differences within a side are named too.
    """
    of_sides = [[evaluations.sampling(key) for key in side] for side in sides]
    return {
        column: _against([[sampling[place] for sampling in side] for side in of_sides])
        for place, column in enumerate(CONFOUNDERS)
    }


def _against(sides: Sequence[Sequence[str]]) -> str:
    if len({text for side in sides for text in side}) == 1:
        return ""
    return " against ".join(", ".join(dict.fromkeys(side)) for side in sides)


def confounder_remarks(table: pd.DataFrame) -> list[str]:
    """How many comparisons of a claim have each confounder.

    Args:
        table: a comparison per line, with the columns of `CONFOUNDERS`.
    """
    counts = {column: int(table[column].ne("").sum()) for column in CONFOUNDERS}
    return [
        f"{count} of {len(table)} compare {CONFOUNDERS[column]}" for column, count in counts.items() if count
    ]
