"""The workflow through a queue that can only submit, tell a state, and cancel; real processes."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from project import Project, copy_of_project

pytestmark = [pytest.mark.integration, pytest.mark.slow]

HERE = ["--workflow-profile", "profiles/generic", "--jobs", "2", "--max-status-checks-per-second", "10"]
DEMO = {
    "scale": "demo",
    "sources": {"scenes": 36},
    "tables": {
        "small": {
            "columns": {"multi30k": ["fr"]},
            "rows": [{"row": 1, "method": "EmbN", "single_model": "N", "experiment": "embn"}],
        }
    },
}


@pytest.fixture(scope="module")
def queue_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The requests to the queue, one line per job."""
    return tmp_path_factory.mktemp("queue") / "asked"


@pytest.fixture
def project(shared_project: Project, queue_log: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project next to a queue."""
    monkeypatch.setenv("PATH", str(Path(__file__).parents[1] / "queue"), prepend=os.pathsep)
    monkeypatch.setenv("QUEUE_ASKED", str(queue_log))
    monkeypatch.setenv("EXIT_STATUS_WAIT", "1")
    queue_log.write_text("")
    return shared_project


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_of_project(tmp_path_factory.mktemp("generic"))
    project.edit("pipeline/training/loop.py", "CHECKPOINTS = 60.0", "CHECKPOINTS = 1.0")
    return project


def test_a_table_is_made_by_submitted_jobs(project: Project, queue_log: Path) -> None:
    project.configure(**DEMO)
    done = project.snakemake(*HERE, "results/small.csv")
    assert done.returncode == 0, done.stdout
    table = pd.read_csv(project.folder / "results" / "small.csv")
    assert table.filter(like="multi30k").notna().all(axis=None)
    jobs = queue_log.read_text().splitlines()
    assert done.stdout.count("with external jobid") == len(jobs) > 7
    (training,) = [job for job in jobs if "-N train " in job]
    assert "-l select=1:ncpus=1:mem=8000mb:ngpus=0 -l walltime=43200 " in training


def test_a_killed_training_is_submitted_again_with_more_memory_and_resumes(
    project: Project, queue_log: Path
) -> None:
    project.configure(**DEMO, experiments={"embn": {"settings": {"training": {"epochs": 300}}}})
    checkpoint = project.folder / "work/demo/checkpoints/multi30k-embn-en-0.pt"
    with project.run_beside(*HERE, "work/demo/multi30k/experiments/embn-en/seed0/model.pt") as running:
        os.killpg(_job(running, checkpoint, "train"), signal.SIGKILL)
        output = running.communicate(timeout=600)[0]
    assert running.returncode == 0, output
    log = (project.folder / "work/logs/demo/train/multi30k-embn-en-0.log").read_text()
    assert "resuming after step" in log
    trainings = [job for job in queue_log.read_text().splitlines() if "-N train " in job]
    assert [re.findall(r"mem=(\d+)mb", job) for job in trainings] == [["8000"], ["16000"]]


def test_jobs_are_cancelled_with_snakemake(project: Project) -> None:
    project.configure(**DEMO, experiments={"embn": {"settings": {"training": {"epochs": 100_000}}}})
    checkpoint = project.folder / "work/demo/checkpoints/multi30k-embn-de-0.pt"
    with project.run_beside(*HERE, "work/demo/multi30k/experiments/embn-de/seed0/model.pt") as running:
        group = _job(running, checkpoint, "train")
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=600)
    assert running.returncode != 0
    _wait(lambda: subprocess.run(["qstat", str(group)]).returncode != 0)


def _job(running: "subprocess.Popen[str]", checkpoint: Path, rule: str) -> int:
    """Process group of the rule's job, once it has saved a checkpoint."""
    assert running.stdout is not None
    for line in running.stdout:
        if found := re.search(rf"external jobid '(\d+):.*snakejob\.{rule}\.", line):
            _wait(lambda: checkpoint.exists() or running.poll() is not None)
            assert running.poll() is None, "it ended before it could be killed"
            return int(found[1])
    raise AssertionError(f"no job of {rule} was submitted")


def _wait(done: Callable[[], bool], seconds: float = 240) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.2)
