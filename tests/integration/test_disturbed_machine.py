"""A full disk, a read-only folder, two Snakemakes in one folder: a clear message, and nothing is lost."""

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from project import Project, copy_of_project

from pipeline import cli
from pipeline.training.loop import Job

pytestmark = pytest.mark.integration


def test_a_checkpoint_that_does_not_fit_keeps_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint.pt"
    job = Job(checkpoint, [], "a")
    job.save({"step": 1})

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        assert cli.exit_status(lambda: job.save({"step": 2})) == 1
    message = capsys.readouterr().err
    assert str(checkpoint) in message and "No space left" in message and "same command" in message
    assert job.load() == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = copy_of_project(tmp_path_factory.mktemp("project"))
    made.configure(scale="demo", sources={"scenes": 36})
    return made


def test_two_snakemakes_in_one_folder(project: Project) -> None:
    long = ["work/demo/multi30k/words/human/de.h5", "work/demo/multi30k/features.h5"]
    with project.run_beside("--cores", "1", *long) as first:
        until = time.monotonic() + 120
        while not any(project.folder.glob(".snakemake/locks/*")):
            assert first.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        second = project.snakemake("--cores", "1", *long)
        output, _ = first.communicate()
    assert second.returncode == 1
    assert "Directory cannot be locked" in second.stdout
    assert first.returncode == 0, output
