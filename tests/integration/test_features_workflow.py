"""Changed image settings rerun what they must, through Snakemake; experiments with features of their own."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
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


def features(path: Path) -> np.ndarray:
    with h5py.File(path) as file:
        return np.asarray(file["features"][...])


def test_only_what_changes_features_extracts_them_again(project: Project) -> None:
    configure(project, batch_size=4, workers=2, compile=True, max_failed_fraction=0.5)
    assert project.would_run(STORE) == {}
    configure(project, precision="auto")
    assert project.would_run(STORE) == {"extract_features": 1}
    configure(project, shards=3)
    assert project.would_run(STORE) == {"extract_shard": 3, "extract_features": 1}


def test_an_experiment_depends_on_its_own_feature_set(project: Project) -> None:
    main, second = (features(project.folder / path) for path in (STORE, SECOND))
    assert main.shape == second.shape
    configure(project, sets={"resnet50": {"crop": 48}})
    again = {"extract_features", "train_lessons", "evaluate_lessons", "tabulate"}
    assert project.would_run(TASKS).keys() == again
    assert project.would_run(STORE) == {}


def test_without_its_feature_set_no_row_can_be_trained(project: Project) -> None:
    configure(project, sets={"resnet50": None})
    done = project.snakemake("-n", TASKS)
    assert done.returncode == 1
    assert "row 1, disjoint: the configuration has no features resnet50" in done.stdout


def test_each_feature_set_may_be_precomputed(project: Project) -> None:
    (project.folder / "given.h5").touch()
    configure(project, sets={"resnet50": {"features": "given.h5"}})
    assert project.would_run(SECOND) == {"import_features": 1}
    assert project.would_run(STORE) == {}
