"""Result files and the papers' numbers, read with texts as they were written: `007`, `1.10`, `NA`."""

from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.files import require_file

# Columns of results that hold texts; all others hold numbers or truth values.
_TEXTS = (
    "table", "section", "group", "method", "training_data", "single_model", "translations", "scale",
    "dataset", "language", "metric", "experiment", "figure", "series", "label", "id", "tables", "claim",
    "needs", "verdict", "reason", "greater", "than", "captioned_in", "split",
)  # fmt: skip


def paper_rows(path: Path, paper: str, table: str) -> list[dict[str, Any]]:
    """A table's numbers in the paper, as printed, in the paper's order; columns as in papers.csv."""
    require_file(path, "the papers' numbers", "Give pipeline/tables/papers.csv.")
    every = pd.read_csv(path, dtype=str, keep_default_na=False)
    of_table = every[(every["paper"] == paper) & (every["table"] == table)]
    rows: list[dict[str, Any]] = of_table.to_dict("records")
    return rows


def read_result(path: Path, what: str, hint: str, *texts: str) -> pd.DataFrame:
    """A table of results, whose empty cells are NaN; the file must be there (`require_file`).

    Args:
        texts: further columns that are read as texts.
    """
    kinds = dict.fromkeys((*_TEXTS, *texts), str)
    path = require_file(path, what, hint)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
