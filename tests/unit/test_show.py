"""A table on the terminal."""

import pandas as pd

from pipeline.tables.show import table_text

NUMBERS = pd.DataFrame(
    [
        ("b", "1", "EmbN", "human", "multi30k", "de", "mR", 12.25, 70.0),
        ("b", "1", "EmbN", "human", "multi30k", "en", "mR", 50.0, None),
        ("b", "1", "EmbN", "human", "multi30k", "en", "i2s_R@1", 99.0, 99.0),
        (None, "2", "MULE", None, "multi30k", "en", "mR", 7.0, 64.8),
    ],
    columns=[
        "section", "row", "method", "training_data", "dataset", "language", "metric", "measured", "paper",
    ],
).assign(group=None)  # fmt: skip


def test_a_table_has_the_papers_numbers_in_brackets_and_dashes_for_missing_cells() -> None:
    assert [line.split() for line in table_text(NUMBERS).splitlines()] == [
        ["multi30k", "de", "en"],
        ["b", "EmbN,", "human", "12.3", "(70.0)", "50.0"],
        ["MULE", "-", "7.0", "(64.8)"],
    ]
