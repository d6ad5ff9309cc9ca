"""Changed image settings rerun what they must, through Snakemake; experiments with features of their own."""

from pathlib import Path
from typing import Any

import pytest
from project import FINISHED, Project, copy_of, finished

from pipeline.settings.merge import merge

pytestmark = pytest.mark.integration

STORE, SECOND = "work/demo/multi30k/features.h5", "work/demo/multi30k/features-resnet50.h5"
TASKS = "results/tasks.csv"  # its models are trained on the second feature set


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copy_of(finished(tmp_path_factory), tmp_path / "project")


def configure(project: Project, **images: Any) -> None:
    project.configure(**merge(FINISHED, {"images": images}))


def test_only_what_changes_features_extracts_them_again(project: Project) -> None:
    configure(project, batch_size=4, workers=2, max_failed_fraction=0.5)
    assert project.would_run(STORE) == {}
    configure(project, precision="auto")
    assert project.would_run(STORE) == {"extract_features": 1}
    configure(project, shards=3)
    assert project.would_run(STORE) == {"extract_shard": 3, "extract_features": 1}


def test_an_experiment_depends_on_its_own_feature_set(project: Project) -> None:
    configure(project, sets={"resnet50": {"crop": 48}})
    jobs = project.would_run(TASKS, STORE)
    assert jobs.keys() == {"extract_features", "train_lessons", "evaluate", "tabulate"}
    assert jobs["extract_features"] == 1
    (project.folder / "given.h5").touch()
    configure(project, sets={"resnet50": {"features": "given.h5"}})
    assert project.would_run(SECOND, STORE) == {"import_features": 1}
