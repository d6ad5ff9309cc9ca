"""A photograph that is overwritten in place is noticed by its size and time, and it alone is read again."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from project import copied

from pipeline.images.store import read_features

pytestmark = [pytest.mark.integration, pytest.mark.extended]

STORE = "work/demo/multi30k/features.h5"


@pytest.mark.parametrize("shards", [1, 2])
def test_a_photograph_overwritten_in_place_is_extracted_again(tmp_path: Path, shards: int) -> None:
    project = copied(tmp_path)
    project.configure(scale="demo", sources={"scenes": 36}, images={"shards": shards})
    project.make(STORE)
    listed = pd.read_csv(tmp_path / "work/demo/multi30k/images.csv", dtype=str)
    images, files = list(listed["image"]), [tmp_path / name for name in listed["path"]]
    before = read_features(tmp_path / STORE, images, {})
    assert project.would_run(STORE) == {}

    folder = files[3].parent.stat().st_mtime_ns
    shutil.copyfile(files[5], files[3])  # into the same file: the folder's time stays
    assert files[3].parent.stat().st_mtime_ns == folder
    assert project.would_run(STORE) == {"extract_features": shards, "features": 1}
    project.make(STORE)
    assert project.would_run(STORE) == {}

    after = read_features(tmp_path / STORE, images, {})
    same = [number for number in range(len(images)) if number != 3]
    assert np.array_equal(after[same], before[same])
    assert np.abs(after[3] - before[5]).max() < 1e-5 * np.abs(before).max()
    assert np.abs(after[3] - before[3]).max() > 1e-2 * np.abs(before).max()
    logs = "".join(path.read_text() for path in (tmp_path / "work/logs/demo/multi30k").glob("features-*.log"))
    assert "1 photographs have another size or time" in logs
    assert sum(map(int, re.findall(r"resuming after (\d+) images", logs))) == len(images) - 1

    status = files[7].stat()
    os.utime(files[7], ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert project.would_run(STORE) == {"extract_features": shards, "features": 1}
