"""Result files and the papers' numbers, read with texts as they were written: `007`, `1.10`, `NA`."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.files import require_file

# Columns of results that hold texts; all others hold numbers or truth values.
_TEXTS = (
    "table", "section", "group", "method", "training_data", "single_model", "translations", "scale",
    "dataset", "language", "metric", "experiment", "id", "tables", "claim",
    "needs", "verdict", "reason", "greater", "than",
)  # fmt: skip

_HEADS = ("row", "group", "method", "dataset", "language")  # columns of config/papers without numbers


def paper_table(path: Path) -> pd.DataFrame:
    """A table's numbers in the paper as printed, such as `145K`; empty cells are empty texts."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def paper_numbers(paths: Sequence[Path]) -> dict[tuple[str, str, str], str]:
    """The printed numbers of some files of config/papers, by row, method and column."""
    return {
        (row["row"], row["method"], column): value
        for path in paths
        for row in paper_table(path).to_dict("records")
        for column, value in row.items()
        if value and column not in _HEADS
    }


def read_result(path: Path, what: str, hint: str, *texts: str) -> pd.DataFrame:
    """A table of results, whose empty cells are NaN; the file must be there (`require_file`).

    Args:
        texts: further columns that are read as texts.
    """
    kinds = dict.fromkeys((*_TEXTS, *texts), str)
    path = require_file(path, what, hint)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
