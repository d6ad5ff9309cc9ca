"""Files that libraries write to a disk that fills up at any point: an error, never a crash.

Each write runs in a fork with a limit of its file's size. HDF5 is closed at its end as C's `exit` does, which
is where it used to crash.
"""

import ctypes
import faulthandler
import os
import resource
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from pipeline.common.files import atomic_write
from pipeline.common.hdf5 import create_hdf5, update_hdf5
from pipeline.images.partial import PartialStore, create
from pipeline.images.store import write_features
from pipeline.words.selection import write_words
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import train_model, write_model
from pipeline.words.vocabulary import Vocabulary, write_vocabulary
from search.nearest import build_approximate
from search.result_files import write_embeddings, write_results

LEAST, SIZES = 4096, 60
WRITTEN, REFUSED, PASSED_BY = 0, 3, 4  # how a fork ends
IMAGES = [f"image {number}" for number in range(150)]
DRAWN = np.random.default_rng(0).normal(size=(150, 16)).astype(np.float32)

Write = Callable[[Path], None]
MAPS = Path("/proc/self/maps").read_text().splitlines()
LIBRARY = next(line.split()[-1] for line in MAPS if "/libhdf5-" in line)
HDF5 = ctypes.CDLL(LIBRARY)


def exit_code(work: Callable[[], None], limit: int | None) -> int:
    """Exit status of a fork whose files have a maximum size in bytes; negative for a signal."""
    if not (child := os.fork()):
        status = PASSED_BY
        faulthandler.disable()  # pytest's
        try:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            work()
            status = WRITTEN
        except OSError as error:
            status = REFUSED if error.filename else PASSED_BY
        finally:
            HDF5.H5close()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def do_not_reserve(path: Path) -> None:
    with create_hdf5(path) as file:
        for number in range(40):
            file.create_dataset(f"d{number}", data=DRAWN[:10], chunks=(1, 16), fletcher32=True)
            file.attrs[f"a{number}"] = "b" * 50
        file["d3"][2] = 0.0
        assert file["d3"][3, 4] == DRAWN[3, 4]


def write_and_read(path: Path) -> None:
    write_results(path, [{"query": f"a {image}", "rank": 1, "similarity": 0.5} for image in IMAGES])


def approximate(path: Path) -> None:
    with atomic_write(path) as temporary:
        build_approximate(DRAWN.astype(np.float16), temporary)


def partial(path: Path) -> None:
    files = np.zeros((len(IMAGES), 2), np.int64)
    create(path, IMAGES, files, {"backbone": "ours"}, 16)
    with update_hdf5(path, libver="earliest") as file:
        PartialStore(file).write(range(150), DRAWN)


WRITERS: dict[str, Write] = {
    "f.h5": lambda path: write_features(path, IMAGES, DRAWN, {"backbone": "ours"}),
    "w.h5": lambda path: write_vocabulary(
        Vocabulary("en", ["", *IMAGES], np.vstack([DRAWN[:1] * 0, DRAWN])), {"vectors": "ours"}, path
    ),
    "s.h5": lambda path: write_words("en", IMAGES, 16, path),
    "e.h5": lambda path: write_embeddings(path, {"sentence": IMAGES}, DRAWN),
    "found.h5": write_and_read,
    "partial.h5": partial,
    "u.h5": do_not_reserve,
}


@pytest.mark.parametrize("name", WRITERS)
def test_hdf5_on_a_disk_that_fills_up_anywhere(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert exit_code(lambda: WRITERS[name](path), None) == WRITTEN
    size = path.stat().st_size
    path.write_bytes(b"earlier")
    limits = np.linspace(LEAST, size - 1, SIZES).astype(int).tolist()
    statuses = {limit: exit_code(lambda: WRITERS[name](path), limit) for limit in limits}
    assert {limit: status for limit, status in statuses.items() if status != REFUSED} == {}
    assert path.read_bytes() == b"earlier"
    assert [file.name for file in tmp_path.iterdir() if file.name.endswith(".part")] == []


def test_without_the_file_object_hdf5_does_crash(tmp_path: Path) -> None:
    """This shows that the tests above would notice a crash."""

    def write() -> None:
        with h5py.File(tmp_path / "f.h5", "w") as file:
            file.create_dataset("features", data=DRAWN, chunks=(1, 16), fletcher32=True)

    assert min(exit_code(write, limit) for limit in (5000, 9000, 12000)) < 0


def test_a_changed_file_keeps_what_was_flushed(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    WRITERS["f.h5"](path)
    before = path.stat().st_size

    def grow() -> None:
        with update_hdf5(path) as file:
            file["features"][0] = 7.0
            file.flush()
            file.create_dataset("more", data=DRAWN)
            file.flush()

    assert exit_code(grow, before) in (REFUSED, PASSED_BY)
    with h5py.File(path) as file:
        assert (file["features"][0] == 7.0).all() and (file["features"][1:] == DRAWN[1:]).all()


def test_hdf5_reads_back_what_the_disk_did_not_take(tmp_path: Path) -> None:
    """Between the failure and its message, HDF5 continues as if nothing had happened."""

    def write() -> None:
        with create_hdf5(tmp_path / "f.h5") as file:
            file.create_dataset("a", data=DRAWN, chunks=(1, 16))
            with pytest.raises(OSError, match="too large"):
                file.flush()
            assert (file["a"][...] == DRAWN).all()

    assert exit_code(write, 6000) == REFUSED


def test_fasttext_and_faiss_on_a_full_disk(tmp_path: Path) -> None:
    settings = WordSettings(vectors="train", dimension=4, tokens=100, subword_buckets=100)
    model = train_model(["a red dog", "a blue cat"], settings)
    writers: dict[str, Write] = {
        "m.bin": lambda path: write_model(model, path),
        "n.faiss": approximate,
    }
    for name, write in writers.items():
        path = tmp_path / name
        write(path)
        size = path.stat().st_size
        for limit in np.linspace(0, size - 1, 12).astype(int).tolist():
            status = exit_code(lambda write=write, path=path: write(path), limit)  # type: ignore[misc]
            assert status == REFUSED, (name, limit)
