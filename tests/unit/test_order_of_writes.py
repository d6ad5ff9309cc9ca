"""Recorded calls show that files are flushed to the disk before they get their names."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from pipeline.common import files
from pipeline.common.files import atomic_write, verify_digest
from pipeline.common.folders import atomic_folder
from pipeline.common.hdf5 import create_hdf5
from pipeline.datasets.partial_download import Origin, open_partial
from pipeline.images.partial import PartialStore, finish
from pipeline.images.partial import open_partial as open_store
from pipeline.images.store import DONE, PENDING, write_features
from search import build_index
from search.build_index import write_index
from search.contents import Photographs
from search.index import open_index

Call = tuple[str, str, int]  # the call, the file's name, its size at that moment


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call of fsync and replace, in order; a replace has the new name."""
    found: list[Call] = []

    def record(name: str, path_of: Callable[..., str]) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> None:
            size = os.stat(arguments[0]).st_size
            real(*arguments)
            found.append((name, Path(path_of(*arguments)).name, size))

        monkeypatch.setattr(os, name, call)

    record("fsync", lambda file: os.readlink(f"/proc/self/fd/{file}"))
    record("replace", lambda old, new: str(new))
    return found


def test_a_file_is_whole_on_the_disk_before_it_has_its_name(tmp_path: Path, calls: list[Call]) -> None:
    path = tmp_path / "a.csv"
    with atomic_write(path) as temporary:
        temporary.write_text("a whole file")
        written = temporary.name
    assert calls == [("fsync", written, 12), ("replace", "a.csv", 12)]
    assert written != "a.csv"


def test_a_files_digest_is_there_before_its_name(
    tmp_path: Path, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[int] = []
    real = files.write_digest

    def record(path: Path, named: Path) -> None:
        noted.append(len(calls))
        real(path, named)

    monkeypatch.setattr(files, "write_digest", record)
    with atomic_write(tmp_path / "a.csv") as temporary:
        temporary.write_text("a whole file")
    assert noted == [1]  # after fsync, before replace
    (tmp_path / "a.csv").write_text("another one")
    with pytest.raises(Exception, match="changed since it was written"):
        verify_digest(tmp_path / "a.csv")


def test_an_hdf5_file_is_closed_first(tmp_path: Path, calls: list[Call]) -> None:
    with create_hdf5(tmp_path / "a.h5") as file:
        file["x"] = np.arange(1000)
    assert [(name, file) for name, file, _ in calls][-1] == ("replace", "a.h5")
    assert [name for name, _, _ in calls] == ["fsync", "replace"]
    assert {size for _, _, size in calls} == {(tmp_path / "a.h5").stat().st_size}
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][999] == 999


def test_all_files_of_a_folder_are_on_the_disk_before_it_has_its_name(
    tmp_path: Path, calls: list[Call]
) -> None:
    with atomic_folder(tmp_path / "out", "a.txt") as folder:
        (folder / "inner").mkdir()
        for name in ("a.txt", "inner/b.txt"):
            (folder / name).write_text(name)
    assert sorted(calls[:2]) == [("fsync", "a.txt", 5), ("fsync", "b.txt", 11)]
    assert [(name, file) for name, file, _ in calls[2:]] == [("replace", "out")]


def test_a_download_is_on_the_disk_before_it_has_its_name(tmp_path: Path, calls: list[Call]) -> None:
    with open_partial(tmp_path / "a.zip") as part:
        part.begin(Origin("http://a/b", "tag", 4))
        calls.clear()
        part.append(b"abcd")
        part.finish(tmp_path / "a.zip")
    assert calls == [("fsync", ".a.zip.part", 4), ("replace", "a.zip", 4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]


def test_extracted_features_are_on_the_disk_before_they_have_their_name(
    tmp_path: Path, calls: list[Call]
) -> None:
    path, output = tmp_path / "partial.h5", tmp_path / "features.h5"
    with open_store(path, ["a", "b"], np.zeros((2, 2), np.int64), {}, 3) as store:
        store.write([0], np.ones((1, 3), np.float32))
        calls.clear()
        finish(store, path, output)
    assert [(name, file) for name, file, _ in calls] == [("fsync", "partial.h5"), ("replace", "features.h5")]


class Recording:
    """A partial store of four rows that records its calls; a row may fail."""

    def __init__(self, fails_at: int):
        self.noted: list[str] = []
        self.done, self.fails_at = np.full(4, PENDING), fails_at

    def __getitem__(self, name: str) -> Any:
        return SimpleDataset(self, name) if name == "features" else self.done

    def flush(self) -> None:
        self.noted.append(f"flush {''.join(map(str, self.done))}")


class SimpleDataset:
    def __init__(self, of: Recording, name: str):
        self.of, self.name = of, name

    def __setitem__(self, row: int, value: np.ndarray) -> None:
        if row == self.of.fails_at:
            raise OSError("killed")
        self.of.noted.append(f"{self.name} {row}")


def test_rows_are_done_only_after_they_are_on_the_disk() -> None:
    file = Recording(fails_at=-1)
    PartialStore(file).write([1, 2], np.zeros((2, 3)))
    assert file.noted == ["features 1", "features 2", "flush 0000", f"flush 0{DONE}{DONE}0"]


def test_a_kill_between_two_rows_leaves_both_pending() -> None:
    file = Recording(fails_at=2)
    with pytest.raises(OSError, match="killed"):
        PartialStore(file).write([1, 2], np.zeros((2, 3)))
    assert file.done.tolist() == [PENDING] * 4


def test_an_index_keeps_the_files_in_index_json_until_a_new_one_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = SimpleNamespace(
        bundle=SimpleNamespace(backbone={"dimension": 2}, folder=tmp_path / "bundle", digest="d"),
        network=SimpleNamespace(similarity="cosine"),
        languages=["en"],
        size=2,
        embed_features=lambda features, file: features,
    )
    for number in (1, 2):
        write_features(tmp_path / f"{number}.h5", ["a", "b"], np.eye(2) * number, {})
    photographs = Photographs({"a": None, "b": None}, None)
    write_index(model, tmp_path / "index", photographs, tmp_path / "1.h5")
    before = (tmp_path / "index/index.json").read_bytes()
    real = atomic_write

    def fails_at_the_end(path: Path) -> Any:
        if path.name == "index.json":
            raise OSError("killed")
        return real(path)

    monkeypatch.setattr(build_index, "atomic_write", fails_at_the_end)
    with pytest.raises(OSError, match="killed"):
        write_index(model, tmp_path / "index", photographs, tmp_path / "2.h5")
    assert (tmp_path / "index/index.json").read_bytes() == before
    assert open_index(tmp_path / "index").image_vectors.tolist() == [[1, 0], [0, 1]]
    monkeypatch.undo()
    write_index(model, tmp_path / "index", photographs, tmp_path / "2.h5")
    assert open_index(tmp_path / "index").image_vectors.tolist() == [[2, 0], [0, 2]]
    named = json.loads((tmp_path / "index/index.json").read_text())["files"].values()
    left = {path.name for path in (tmp_path / "index").iterdir()}
    assert left - {"index.json", ".lock", *(f".{name}.sha256" for name in named)} == set(named)


def test_a_folder_in_use_stays_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.txt").write_text("earlier")
    real = os.replace

    def fails_for_the_new(old: Path, new: Path) -> None:
        if old.name.endswith(".part"):
            raise OSError(errno.EIO, "killed")
        real(old, new)

    monkeypatch.setattr(os, "replace", fails_for_the_new)
    with pytest.raises(OSError, match="killed"), atomic_folder(tmp_path / "out", "a.txt") as folder:
        (folder / "a.txt").write_text("new")
    assert (tmp_path / "out/a.txt").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    shutil.rmtree(tmp_path / "out")
