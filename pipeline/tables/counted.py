"""Code that the tables of counts share: lines with the paper's numbers, and files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.tables.tabulate import COMPARISON_COLUMNS

Row = dict[str, Any]


def write_tables(rows: pd.DataFrame, table: Path, lines: Sequence[Row], comparison: Path) -> None:
    """Write a table as printed, and its numbers next to the paper's, in the columns of `tabulate`."""
    with atomic_write(comparison) as temporary:
        pd.DataFrame(lines, columns=COMPARISON_COLUMNS).to_csv(temporary, index=False, lineterminator="\n")
    with atomic_write(table) as temporary:
        rows.to_csv(temporary, index=False, lineterminator="\n")
