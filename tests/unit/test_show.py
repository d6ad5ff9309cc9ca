"""A table on the terminal."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline.common.errors import InputError
from pipeline.tables.show import show_table, table_text

NUMBERS = pd.DataFrame(
    [
        ("b", "1", "EmbN", "human", "de", "mR", 12.25, 70.0),
        ("b", "1", "EmbN", "human", "en", "mR", 50.0, None),
        ("b", "1", "EmbN", "human", "en", "i2s_R@1", 99.0, 99.0),
        (None, "2", "MULE", None, "en", "mR", 7.0, 64.8),
    ],
    columns=["section", "row", "method", "training_data", "language", "metric", "measured", "paper"],
).assign(group=None, dataset="multi30k")


def test_a_table_has_the_papers_numbers_in_brackets_and_dashes_for_missing_cells() -> None:
    assert [line.split() for line in table_text(NUMBERS).splitlines()] == [
        ["multi30k", "de", "en"],
        ["b", "EmbN,", "human", "12.3", "(70.0)", "50.0"],
        ["MULE", "-", "7.0", "(64.8)"],
    ]


@pytest.mark.parametrize("numbers", [NUMBERS.assign(metric="images"), NUMBERS[["metric"]]])
def test_a_file_without_mean_recalls_is_refused(tmp_path: Path, numbers: pd.DataFrame) -> None:
    numbers.to_csv(tmp_path / "claims.csv", index=False)
    with pytest.raises(InputError, match="no mean recalls"):
        show_table(tmp_path / "claims.csv")


def test_a_missing_file_is_made_by_its_own_papers_target() -> None:
    with pytest.raises(InputError, match=r"snakemake results/smalr/table1\.csv"):
        show_table(Path("results/comparison/smalr/table1.csv"))
