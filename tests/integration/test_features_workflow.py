"""Changed image settings and photographs rerun what they must, through Snakemake."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from project import DEMO, Project, copy_of_project, ready

from pipeline.images.store import read_features

pytestmark = pytest.mark.integration

STORE = "work/demo/multi30k/features.h5"


def configure(project: Project, **images: Any) -> None:
    project.configure(scale="demo", sources={"scenes": 36}, images=images)


def test_only_what_changes_features_extracts_them_again(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path)
    configure(project)
    project.make(STORE)
    folder = project.folder / "work" / "demo" / "multi30k"
    listed = pd.read_csv(folder / "images.csv", dtype=str)
    images = list(listed["image"])
    one = read_features(folder / "features.h5", images, {"crop": 64})
    assert (folder / "failed.csv").read_text() == "image,path,reason\n"
    for same in ({}, {"batch_size": 4}, {"workers": 2, "compile": True}, {"max_failed_fraction": 0.5}):
        configure(project, **same)
        assert project.would_run(STORE) == {}, same
    for other in ({"precision": "auto"}, {"crops": 10}):
        configure(project, **other)
        assert project.would_run(STORE) == {"extract_features": 1}, other

    first, last = (tmp_path / listed["path"][row] for row in (0, len(images) - 1))
    shutil.copyfile(first, last)  # in place: the time of its folder stays
    configure(project, shards=3)
    assert project.would_run(STORE) == {"extract_shard": 3, "extract_features": 1}
    project.make(STORE)
    assert project.would_run(STORE) == {}
    three = read_features(folder / "features.h5", images, {"crop": 64})
    assert np.array_equal(three[:-1], one[:-1])
    assert np.abs(three[-1] - one[0]).max() < 1e-5 * np.abs(one).max()


ON_VGG = {
    "experiments": {"on-vgg": {"branches": "shared", "captions": "human", "features": "vgg"}},
    "tables": {
        "mine": {
            "columns": {"multi30k": ["en"]},
            "rows": [
                {"row": 1, "method": "MULE EmbN", "experiment": "mule-embn"},
                {"row": 2, "method": "on VGG", "experiment": "on-vgg"},
            ],
        }
    },
}


def test_an_experiment_is_trained_on_a_second_feature_set(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = ready(tmp_path, tmp_path_factory)
    small: dict[str, Any] = {**DEMO, **ON_VGG}
    project.configure(**small)
    project.make("results/mine.csv")
    assert list(pd.read_csv(tmp_path / "results" / "mine.csv")["method"]) == ["MULE EmbN", "on VGG"]
    folder = tmp_path / "work" / "demo" / "multi30k"
    images = list(pd.read_csv(folder / "images.csv", dtype=str)["image"])
    main = read_features(folder / "features.h5", images, {"crops": 1})
    vgg = read_features(folder / "features-vgg.h5", images, {"crops": 1})
    assert not np.allclose(main, vgg, rtol=1e-3)
    assert (folder / "failed-vgg.csv").read_text() == "image,path,reason\n"

    again = {
        "extract_features": 1,
        "train": 1,
        "evaluate": 1,
        "tabulate": 1,
    }
    project.configure(**small, images={"sets": {"vgg": {"crop": 48}}})
    assert project.would_run("results/mine.csv") == again
    assert project.would_run(STORE) == {}
    project.configure(**small, images={"crop": 48, "sets": {"vgg": {"crop": 64}}})
    assert project.would_run("results/mine.csv") == again

    project.configure(**small, images={"sets": {"vgg": None}})
    project.make("results/mine.csv")
    assert list(pd.read_csv(tmp_path / "results" / "mine.csv")["method"]) == ["MULE EmbN"]
    output = (tmp_path / "work" / "logs" / "tables" / "mine.log").read_text()
    assert "omitted: row 2, on VGG: the configuration has no features vgg (images.sets)" in output
    model = "work/demo/multi30k/experiments/on-vgg/seed0/model.pt"
    done = project.snakemake("-n", "--forcerun", "train", "--", model)
    assert done.returncode != 0
    assert "experiment on-vgg cannot be trained: the configuration has no features vgg" in done.stdout


def test_each_feature_set_may_be_precomputed(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path)
    small: dict[str, Any] = {"scale": "demo", "sources": {"scenes": 36}, **ON_VGG}
    main, vgg = "work/demo/multi30k/features.h5", "work/demo/multi30k/features-vgg.h5"
    project.configure(**small, images={"sets": {"vgg": {"features": "given.h5"}}})
    (tmp_path / "given.h5").touch()
    assert "extract_features" in project.would_run(main)
    found = project.would_run(vgg)
    assert found["import_features"] == 1
    assert not {"extract_features", "find_images"} & found.keys()
    project.configure(**small, images={"features": "given.h5"})
    assert "import_features" in project.would_run(main)
    assert "extract_features" in project.would_run(vgg)
