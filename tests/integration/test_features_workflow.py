"""What a change of the images' settings runs again, and shards as jobs of their own, through Snakemake."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from project import Project, copied

from pipeline.images.store import read_features

pytestmark = pytest.mark.integration

STORE = "work/demo/multi30k/features.h5"


def configure(project: Project, **images: Any) -> None:
    project.configure(scale="demo", sources={"scenes": 36}, images=images)


def test_only_what_changes_features_extracts_them_again(tmp_path: Path) -> None:
    project = copied(tmp_path)
    configure(project)
    project.make(STORE)
    folder = project.folder / "work" / "demo" / "multi30k"
    images = list(pd.read_csv(folder / "images.csv", dtype=str)["image"])
    one = read_features(folder / "features.h5", images, {"crop": 64})
    assert (folder / "failed.csv").read_text() == "image,path,reason\n"
    assert not list((folder / "shards").glob("*"))

    for same in ({}, {"batch": 4}, {"workers": 1, "compile": True}, {"failed_share": 0.5}, {"shards": 3}):
        configure(project, **same)
        assert project.would_run(STORE) == {}, same
    for other in ({"precision": "auto"}, {"windows": "convolutional"}, {"crops": 10}):
        configure(project, **other)
        assert project.would_run(STORE) == {"extract_features": 1, "features": 1}, other

    (folder / "features.h5").unlink()
    configure(project, shards=3, batch=4)
    assert project.would_run(STORE) == {"extract_features": 3, "features": 1}
    project.make(STORE)
    three = read_features(folder / "features.h5", images, {"crop": 64})
    assert np.abs(three - one).max() < 1e-5 * np.abs(one).max()
    for shards in (1, 3, 5):
        configure(project, shards=shards)
        assert project.would_run(STORE) == {}, shards
