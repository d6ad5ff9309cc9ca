"""A job that fails while later results exist: the earlier ones stay, and the next call runs it again.

Through the real Snakemake, which by itself would find nothing to be done afterwards.
"""

from pathlib import Path
from typing import NamedTuple

import pytest
from project import INDEX, Project, copy_of, digests, finished

pytestmark = pytest.mark.integration

OWN_TABLE = "results/own.csv"
OWN_MODEL = "work/demo/shapes/experiments/parallel-embn/seed0/model.pt"

# In no stage's digest, but imported by every stage.
IMPORTED = "pipeline/common/signals.py"


class Failure(NamedTuple):
    """An edit (file, old and new text) that makes a rule run again, the rules that run, and the target."""

    edit: tuple[str, str, str]
    reruns: set[str]
    target: str = OWN_TABLE


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Project:
    return copy_of(finished(tmp_path_factory), tmp_path / "project")


FAILURES = {
    "train": Failure(
        (
            "small.yaml",
            "\ntraining:\n  batch_images: 20\n  epochs: 1",
            "\ntraining:\n  batch_images: 20\n  epochs: 2",
        ),
        {"train", "evaluate", "tabulate"},
    ),
    "build_index": Failure(
        ("search/build_index.py", "import time\n", "import time\nimport zlib\n"),
        {"build_index"},
        INDEX,
    ),
}


@pytest.mark.parametrize("rule", FAILURES)
def test_a_failed_job_runs_again_and_loses_no_earlier_result(project: Project, rule: str) -> None:
    failure = FAILURES[rule]
    before = digests(project.folder)
    assert project.would_run(failure.target) == {}

    project.edit(*failure.edit)
    whole = (project.folder / IMPORTED).read_text()
    project.edit(IMPORTED, whole, f"{whole}\nraise RuntimeError('broken')\n")
    for _ in range(2):
        failed = project.snakemake("--cores", "1", failure.target)
        assert failed.returncode == 1 and "broken" in failed.stdout
        assert digests(project.folder) == before

    project.edit(IMPORTED, f"{whole}\nraise RuntimeError('broken')\n", whole)
    assert set(project.would_run(failure.target)) == failure.reruns
    project.make(failure.target)
    assert project.would_run(failure.target) == {}
    after = digests(project.folder)
    assert after.keys() >= before.keys()
    assert (after[OWN_MODEL] != before[OWN_MODEL]) == (rule == "train")
