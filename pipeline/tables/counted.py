"""Code that the tables of counts share: files, and lines with the paper's numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.tables.result_files import paper_table
from pipeline.tables.tabulate import COMPARISON_COLUMNS

Row = dict[str, Any]

MILLIONS = "parameters (millions)"  # a metric


def with_papers_numbers(rows: pd.DataFrame, papers: Path) -> pd.DataFrame:
    """Rows with a `model`, and in the column `paper` its number as printed; empty if the paper has none."""
    return rows.assign(paper=rows["model"].map(paper_table(papers).set_index("method")["value"]).fillna(""))


def parameter_lines(rows: pd.DataFrame, table: str, scale: str, dataset: str) -> list[Row]:
    """Lines of a comparison, from rows with model, metric, value, and the paper's number as printed."""
    lines = rows.rename(columns={"model": "method", "value": "measured"})[["method", "metric", "measured"]]
    lines = lines.assign(row=range(1, len(rows) + 1), paper=rows["paper"].str.rstrip("M%x"))
    records: list[Row] = lines.assign(table=table, scale=scale, dataset=dataset).to_dict("records")
    return records


def write_tables(rows: pd.DataFrame, table: Path, lines: Sequence[Row], comparison: Path) -> None:
    """Write a table as printed, and its numbers next to the paper's, in the columns of `tabulate`."""
    with atomic_write(comparison) as temporary:
        pd.DataFrame(lines, columns=COMPARISON_COLUMNS).to_csv(temporary, index=False, lineterminator="\n")
    with atomic_write(table) as temporary:
        rows.to_csv(temporary, index=False, lineterminator="\n")
