"""Code that the tables of counts share: lines with the paper's numbers, and files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.tables.tabulate import COMPARISON_COLUMNS

Row = dict[str, Any]

MILLIONS = "parameters (millions)"  # a metric


def parameter_lines(rows: pd.DataFrame, table: str, scale: str, dataset: str) -> list[Row]:
    """Lines of a comparison, from rows with model, metric, value, and the paper's number as printed."""
    return [
        {
            "table": table,
            "row": number,
            "method": row["model"],
            "scale": scale,
            "dataset": dataset,
            "metric": row["metric"],
            "measured": row["value"],
            "paper": row["paper"].rstrip("M%x"),
        }
        for number, row in enumerate(rows.to_dict("records"), 1)
    ]


def write_tables(rows: pd.DataFrame, table: Path, lines: Sequence[Row], comparison: Path) -> None:
    """Write a table as printed, and its numbers next to the paper's, in the columns of `tabulate`."""
    with atomic_write(comparison) as temporary:
        pd.DataFrame(lines, columns=COMPARISON_COLUMNS).to_csv(temporary, index=False, lineterminator="\n")
    with atomic_write(table) as temporary:
        rows.to_csv(temporary, index=False, lineterminator="\n")
