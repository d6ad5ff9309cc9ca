"""A node's queue, GPU, disk and locks are tried, and what fails is listed with what does not."""

from pathlib import Path

import pytest

from pipeline.check_node import check_node
from pipeline.common.errors import InputError

TRIALS = ["queue", "GPU", "disk", "locks", "network"]


def test_each_trial_has_a_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    check_node(tmp_path / "found.txt")
    lines = (tmp_path / "found.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split(":")[0] for line in lines] == TRIALS
    assert ", job 17, " in lines[0] and lines[3] == "locks: files and SQLite"
    assert [path.name for path in tmp_path.iterdir()] == ["found.txt"]


def test_a_missing_gpu_fails_and_the_other_trials_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(InputError, match="GPU: FAILED: a GPU was asked for") as failure:
        check_node(tmp_path / "found.txt", gpu=1)
    assert all(f"\n{trial}: " in str(failure.value) for trial in TRIALS)
    assert not (tmp_path / "found.txt").exists()
