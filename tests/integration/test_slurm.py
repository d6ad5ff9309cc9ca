"""The workflow through a real Slurm: jobs are queued, and a cancelled job resumes from its checkpoint."""

import re
import subprocess
from collections.abc import Iterator

import pandas as pd
import pytest
from project import Project, copy_of_project
from slurm import missing, slurm, wait

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

# A Slurm without accounting, and no need to spare its controller.
HERE = ["--workflow-profile", "profiles/slurm", "--slurm-no-account", "--slurm-status-command", "squeue"]
HERE += ["--slurm-init-seconds-before-status-checks", "2"]
LANGUAGES = ["en", "de"]
FULL = {"branches": "shared", "captions": "human", "neighborhood": True, "pretraining": True}
ROWS = [{"row": 1, "method": "MULE full", "experiment": "full-small"}]
DEMO = {
    "scale": "demo",
    "sources": {"scenes": 36},
    "experiments": {
        "full-small": {**FULL, "languages": LANGUAGES},
        "embn": {"settings": {"training": {"epochs": 300}}},
    },
    "tables": {"small": {"columns": {"multi30k": LANGUAGES}, "rows": ROWS}},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("cluster")
    with slurm(folder / "slurm"):
        (folder / "project").mkdir()
        project = copy_of_project(folder / "project")
        project.edit("pipeline/training/loop.py", "CHECKPOINTS = 60.0", "CHECKPOINTS = 1.0")
        project.configure(**DEMO)
        yield project


def test_a_table_is_made_by_queued_jobs(project: Project) -> None:
    done = project.snakemake(*HERE, "cluster_check", "results/small.csv")
    output = done.stdout
    assert done.returncode == 0, output
    (planned,) = re.findall(r"^total +(\d+)$", output, re.MULTILINE)
    assert output.count("has been submitted with SLURM jobid") == int(planned) - 2 > 10  # two are local
    assert re.search(r"^queue: node \S+, job \d+, .*(\n.*){2}\nlocks: files and SQLite$", output, re.M)
    table = pd.read_csv(project.folder / "results" / "small.csv")
    assert table.filter(like="multi30k").notna().all(axis=None)


def test_a_cancelled_training_resumes_from_its_checkpoint(project: Project) -> None:
    target = "work/demo/multi30k/experiments/embn-en/seed0/model.pt"
    checkpoint = project.folder / "work/demo/checkpoints/multi30k-embn-en-0.pt"
    with project.run_beside(*HERE, target) as running:
        wait(lambda: checkpoint.exists() or running.poll() is not None, "no checkpoint")
        assert running.poll() is None, "it ended before it could be cancelled"
        subprocess.run(["scancel", "--state=RUNNING", "--user=root"], check=True)
        output = running.communicate(timeout=1200)[0]
    assert running.returncode == 0, output
    assert "Trying to restart job" in output
    log = (project.folder / "work/logs/demo/train/multi30k-embn-en-0.log").read_text()
    assert "resuming after step" in log
