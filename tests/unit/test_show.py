"""A table on the terminal, and the progress of `make demo`."""

import pandas as pd
import pytest

from pipeline.tables.show import table_text
from workflow import demo

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


def test_the_time_left_weighs_jobs_by_how_long_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    lines = [
        "job      count\n", "train        2\n", "split        4\n", "total        6\n",
        "Finished jobid: 3 (Rule: split)\n", "Finished jobid: 1 (Rule: train)\n", "Job 2: Training EmbN\n",
    ]  # fmt: skip
    # Work of 16 of 34 seconds is done after 10 s; with the expected 120 in a minute it is 136 in 70 s.
    assert list(demo.progress_lines(lines, every=5)) == ["2 of 6 jobs, about 9 s left: Training EmbN"]
