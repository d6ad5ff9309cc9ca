"""Changed image settings rerun what they must, and shards are separate jobs, through Snakemake."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from project import DEMO, Project, copy_of_project, ready

from pipeline.images.store import read_features

pytestmark = [pytest.mark.integration, pytest.mark.extended]

STORE = "work/demo/multi30k/features.h5"


def configure(project: Project, **images: Any) -> None:
    project.configure(scale="demo", sources={"scenes": 36}, images=images)


def test_only_what_changes_features_extracts_them_again(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path)
    configure(project)
    project.make(STORE)
    folder = project.folder / "work" / "demo" / "multi30k"
    images = list(pd.read_csv(folder / "images.csv", dtype=str)["image"])
    one = read_features(folder / "features.h5", images, {"crop": 64})
    assert (folder / "failed.csv").read_text() == "image,path,reason\n"
    assert not list((folder / "shards").glob("*"))

    for same in (
        {},
        {"batch_size": 4},
        {"workers": 2, "compile": True},
        {"max_failed_fraction": 0.5},
        {"shards": 3},
    ):
        configure(project, **same)
        assert project.would_run(STORE) == {}, same
    for other in ({"precision": "auto"}, {"crop_evaluation": "dense"}, {"crops": 10}):
        configure(project, **other)
        assert project.would_run(STORE) == {"extract_features": 1, "merge_features": 1}, other

    keep = tmp_path / "work" / "demo" / "partial" / "multi30k-features.h5"
    assert keep.samefile(folder / "features.h5")
    (folder / "features.h5").unlink()
    keep.unlink()
    configure(project, shards=3, batch_size=4)
    assert project.would_run(STORE) == {"extract_features": 3, "merge_features": 1}
    project.make(STORE)
    three = read_features(folder / "features.h5", images, {"crop": 64})
    assert np.abs(three - one).max() < 1e-5 * np.abs(one).max()
    for shards in (1, 3, 5):
        configure(project, shards=shards)
        assert project.would_run(STORE) == {}, shards

    rows = (folder / "images.csv").read_text().splitlines(keepends=True)
    (folder / "images.csv").unlink()  # and its stored digest
    (folder / "images.csv").write_text("".join(rows[:-2]))
    assert project.would_run(STORE) == {"extract_features": 3, "merge_features": 1}
    project.make(STORE)
    fewer = read_features(folder / "features.h5", images[:-2], {"crop": 64})
    assert np.array_equal(fewer, three[:-2])
    logs = tmp_path / "work" / "logs" / "demo" / "multi30k"
    told = "".join(path.read_text() for path in logs.glob("extract-features-*-of-3.log"))
    assert sum(map(int, re.findall(r"resuming after (\d+) images", told))) == len(images) - 2


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
    main = read_features(folder / "features.h5", images, {"crops": 2})
    vgg = read_features(folder / "features-vgg.h5", images, {"crops": 1})
    assert not np.allclose(main, vgg, rtol=1e-3)
    assert (folder / "failed-vgg.csv").read_text() == "image,path,reason\n"

    again = {
        "extract_features": 1,
        "merge_features": 1,
        "train": 1,
        "evaluate": 1,
        "tabulate": 1,
        "publish": 2,
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
    assert {"extract_features", "merge_features"} <= project.would_run(main).keys()
    found = project.would_run(vgg)
    assert found["import_features"] == 1
    assert not {"extract_features", "find_images"} & found.keys()
    project.configure(**small, images={"features": "given.h5"})
    assert "import_features" in project.would_run(main)
    assert "extract_features" in project.would_run(vgg)
