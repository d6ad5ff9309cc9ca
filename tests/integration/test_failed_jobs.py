"""A job that fails while later results exist: the earlier ones stay, and the next call runs it again.

Through the real Snakemake, which by itself would find nothing to be done afterwards.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from project import OWN, OWN_MODEL, OWN_TABLE, Project, copy_of_project, digests, write_own_data

pytestmark = [pytest.mark.integration, pytest.mark.extended]

# In no stage's digest, but imported by every stage.
IMPORTED = "pipeline/common/signals.py"


class Failure(NamedTuple):
    """An edit (file, old and new text) that makes a rule run again, the rules that run, and the target."""

    edit: tuple[str, str, str]
    reruns: set[str]
    target: str = OWN_TABLE


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = copy_of_project(tmp_path_factory.mktemp("finished"))
    write_own_data(project.folder / "mine")
    project.configure(**OWN)
    project.make(OWN_TABLE, f"{OWN_MODEL}/index")
    return project.folder


FAILURES = {
    "train": Failure(
        (
            "small.yaml",
            "\ntraining:\n  batch_images: 20\n  epochs: 1",
            "\ntraining:\n  batch_images: 20\n  epochs: 2",
        ),
        {"train", "evaluate", "tabulate"},
    ),
    "evaluate": Failure(
        ("pipeline/evaluation/evaluate.py", "import gzip\n", "import gzip\nimport zlib\n"),
        {"evaluate", "tabulate"},
    ),
    "build_index": Failure(
        ("search/build_index.py", "import time\n", "import time\nimport zlib\n"),
        {"build_index"},
        f"{OWN_MODEL}/index.h5",
    ),
}


@pytest.mark.parametrize("rule", FAILURES)
def test_a_failed_job_runs_again_and_loses_no_earlier_result(
    finished_project: Path, tmp_path: Path, rule: str
) -> None:
    failure = FAILURES[rule]
    project = Project(shutil.copytree(finished_project, tmp_path / "project"))
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
    model = f"{OWN_MODEL}/model.pt"
    assert (after[model] != before[model]) == (rule == "train")
