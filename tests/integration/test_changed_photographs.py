"""A photograph that is overwritten in place is noticed by its size and time, and only it is read again."""

import os
import re
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from project import copy_of_project

from pipeline.images.store import read_features

pytestmark = [pytest.mark.integration, pytest.mark.extended]

STORE = "work/demo/multi30k/features.h5"


@pytest.mark.parametrize("shards", [1, 2])
def test_a_photograph_overwritten_in_place_is_extracted_again(tmp_path: Path, shards: int) -> None:
    project = copy_of_project(tmp_path)
    project.configure(scale="demo", sources={"scenes": 36}, images={"shards": shards})
    project.make(STORE)
    listed = pd.read_csv(tmp_path / "work/demo/multi30k/images.csv", dtype=str)
    images, files = list(listed["image"]), [tmp_path / name for name in listed["path"]]
    before = read_features(tmp_path / STORE, images, {})
    assert project.would_run(STORE) == {}

    folder = files[3].parent.stat().st_mtime_ns
    shutil.copyfile(files[5], files[3])  # into the same file: the folder's time stays
    assert files[3].parent.stat().st_mtime_ns == folder
    assert project.would_run(STORE) == {"extract_features": shards, "merge_features": 1}
    project.make(STORE)
    assert project.would_run(STORE) == {}

    after = read_features(tmp_path / STORE, images, {})
    same = [number for number in range(len(images)) if number != 3]
    assert np.array_equal(after[same], before[same])
    assert np.abs(after[3] - before[5]).max() < 1e-5 * np.abs(before).max()
    assert np.abs(after[3] - before[3]).max() > 1e-2 * np.abs(before).max()
    logs = "".join(
        path.read_text() for path in (tmp_path / "work/logs/demo/multi30k").glob("extract-features-*.log")
    )
    assert "1 photographs have changed in size or time" in logs
    assert sum(map(int, re.findall(r"resuming after (\d+) images", logs))) == len(images) - 1

    status = files[7].stat()
    os.utime(files[7], ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert project.would_run(STORE) == {"extract_features": shards, "merge_features": 1}


def test_a_photograph_overwritten_while_others_are_extracted_is_extracted_again(tmp_path: Path) -> None:
    """A photograph of the shard that ends first, while the other takes at least a second."""
    project = copy_of_project(tmp_path)
    project.configure(scale="demo", sources={"scenes": 36}, images={"shards": 2})
    folder = tmp_path / "work/demo/multi30k"
    overwritten: list[int] = []
    ended = threading.Event()

    def overwrite() -> None:
        while not (finished := list(folder.glob("shards/*.h5"))) and not ended.is_set():
            time.sleep(0.01)
        listed = pd.read_csv(folder / "images.csv", dtype=str)["path"]
        first = finished[0].name.startswith("1-")
        overwritten.extend((3, 5) if first else (len(listed) - 3, len(listed) - 5))
        shutil.copyfile(tmp_path / listed[overwritten[1]], tmp_path / listed[overwritten[0]])

    person = threading.Thread(target=overwrite)
    person.start()
    done = project.snakemake("--cores", "1", STORE)
    ended.set()
    person.join()
    assert done.returncode == 0, done.stdout
    assert project.would_run(STORE) == {"extract_features": 2, "merge_features": 1}
    project.make(STORE)
    assert project.would_run(STORE) == {}
    found = read_features(tmp_path / STORE, list(pd.read_csv(folder / "images.csv", dtype=str)["image"]), {})
    assert np.abs(found[overwritten[0]] - found[overwritten[1]]).max() < 1e-5 * np.abs(found).max()
