"""Result files, read with texts as they were written, including `007`, `1.10` and `NA`."""

from pathlib import Path

import pandas as pd

from pipeline.common.files import require_file

# Columns of results that hold texts; all others hold numbers or truth values.
_TEXTS = (
    "table", "section", "group", "method", "training_data", "single_model", "translations", "scale",
    "dataset", "language", "metric", "experiment", "figure", "series", "label", "id", "tables", "claim",
    "needs", "verdict", "reason", "greater", "than", "captioned_in", "split",
)  # fmt: skip


def read_result(path: Path, what: str, hint: str, *texts: str) -> pd.DataFrame:
    """A table of results, whose empty cells are NaN; the file must be there (`require_file`).

    Args:
        texts: further columns that are read as texts.
    """
    kinds = dict.fromkeys((*_TEXTS, *texts), str)
    path = require_file(path, what, hint)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
