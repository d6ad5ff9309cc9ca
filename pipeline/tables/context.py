"""results/context.csv: frozen models by others, next to the tables and never in them (docs/search.md)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.files import atomic_write, require_file


def tabulate_clip(parts: Sequence[Path], output: Path) -> None:
    """Write the rows of every model and data set, in the order given.

    Args:
        parts: outputs of `evaluate-clip`.
        output: CSV to write.
    """
    rows = [
        pd.read_csv(
            require_file(path, "the model's recalls", "Run `python -m pipeline evaluate-clip`."), dtype=str
        )
        for path in parts
    ]
    with atomic_write(output) as temporary:
        pd.concat(rows, ignore_index=True).to_csv(temporary, index=False, lineterminator="\n")
