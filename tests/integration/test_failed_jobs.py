"""A job that fails while later results exist: its old outputs stay, and the next call runs it again.

Snakemake by itself would then find nothing to be done.
"""

import os
import subprocess
from pathlib import Path

import pytest
from project import ROOT, Project, copy_of, digests, finished

pytestmark = pytest.mark.integration

OWN_TABLE = "results/own.csv"
OWN_MODEL = "work/demo/shapes/experiments/parallel-embn/seed0/model.pt"

# In no stage's digest, but imported by every stage.
IMPORTED = "pipeline/common/signals.py"


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Project:
    return copy_of(finished(tmp_path_factory), tmp_path / "project")


def test_a_failed_job_runs_again_and_loses_no_earlier_result(project: Project) -> None:
    before = digests(project.folder)
    schedule = "\ntraining:\n  batch_images: 20\n  epochs: "
    project.edit("small.yaml", f"{schedule}1", f"{schedule}2")
    whole = (project.folder / IMPORTED).read_text()
    project.edit(IMPORTED, whole, f"{whole}\nraise RuntimeError('broken')\n")
    for _ in range(2):
        failed = project.snakemake("--cores", "1", OWN_TABLE)
        assert failed.returncode == 1 and "broken" in failed.stdout
        assert digests(project.folder) == before

    project.edit(IMPORTED, f"{whole}\nraise RuntimeError('broken')\n", whole)
    assert set(project.would_run(OWN_TABLE)) == {"train", "evaluate", "tabulate"}
    project.make(OWN_TABLE)
    assert project.would_run(OWN_TABLE) == {}
    after = digests(project.folder)
    assert after.keys() >= before.keys()
    assert after[OWN_MODEL] != before[OWN_MODEL]


def test_warnings_of_jobs_are_shown_when_a_run_ends(project: Project) -> None:
    done = project.snakemake("--cores", "1", "--forcerun", "tokenize", "--", "work/demo/shapes/tokens/sw.csv")
    assert "\nwarning: Moses has no rules for 'sw'" in done.stdout, done.stdout


@pytest.mark.slow
def test_a_job_that_a_queue_ends_before_it_starts_shows_no_older_log(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        """
from pipeline.plan import job_logs
rule fails:
    output: "out.txt"
    log: "out.log"
    shell: "touch {output}"
onstart: job_logs.empty_logs(workflow.persistence)
"""
    )
    (tmp_path / "out.log").write_text("of an older run")
    queue = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", "echo 1; true"]
    queue += ["--cluster-generic-status-cmd", "echo failed; true"]
    command = [
        "snakemake",
        "--jobs",
        "1",
        "--show-failed-logs",
        *queue,
        "--max-status-checks-per-second",
        "9",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "fails" in done.stderr
    assert "of an older run" not in done.stderr
