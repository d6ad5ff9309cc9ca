"""Finished tables replace earlier ones together, or not at all."""

from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from pipeline.tables.publish import publish


def test_files_replace_earlier_ones(tmp_path: Path) -> None:
    files = [tmp_path / "table.csv", tmp_path / "comparison.csv"]
    outputs = [tmp_path / "results" / path.name for path in files]
    for number, path in enumerate(files):
        path.write_text(f"new {number}")
    publish(files, outputs)
    assert [path.read_text() for path in outputs] == ["new 0", "new 1"]
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_if_one_file_is_missing_none_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("new")
    outputs = [tmp_path / "results" / name for name in ("table.csv", "comparison.csv")]
    outputs[0].parent.mkdir()
    for path in outputs:
        path.write_text("old")
    with pytest.raises(InputError, match=r"comparison\.csv: the finished table is not there"):
        publish([tmp_path / "table.csv", tmp_path / "comparison.csv"], outputs)
    assert [path.read_text() for path in outputs] == ["old", "old"]
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_files_and_outputs_must_be_equally_many(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found 2 --files and 1 --outputs"):
        publish([tmp_path / "a", tmp_path / "b"], [tmp_path / "c"])
