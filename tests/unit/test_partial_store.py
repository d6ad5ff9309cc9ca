"""The unfinished store: a kill at any moment leaves it readable, and loses no finished row."""

import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from pipeline.common.errors import InputError
from pipeline.images import partial
from pipeline.images.partial import BLOCK, PartialStore, attribute_differences, open_partial
from pipeline.images.store import DONE, PENDING

IMAGES = [f"photo{number}" for number in range(40)]
FILES = np.arange(80).reshape(40, 2)
ATTRIBUTES: dict[str, Any] = {"crops": 10, "mean": [0.5, 0.25, 0.5], "backbone": "none"}
DIMENSION = 300


def rows(numbers: list[int], version: int = 0) -> np.ndarray:
    """The features of some rows in these tests."""
    return np.array([np.arange(DIMENSION) + 1000 * n + version for n in numbers], np.float32)


def open_store(path: Path, attributes: dict[str, Any] = ATTRIBUTES, images: list[str] = IMAGES) -> Any:
    return open_partial(path, images, FILES[: len(images)], attributes, DIMENSION)


def test_writing_changes_only_numbers_and_never_the_files_structure(tmp_path: Path) -> None:
    """Byte by byte: outside the rows' chunks and the mask, the file stays as it was created."""
    path = tmp_path / "partial.h5"
    with open_store(path):
        pass
    before = np.frombuffer(path.read_bytes(), np.uint8)
    with open_store(path) as store:
        store.write([3, 4, 39], rows([3, 4, 39]))
        store.write([3, 0], rows([3, 0], 7))
    after = np.frombuffer(path.read_bytes(), np.uint8)
    assert len(before) == len(after)
    changed = set(np.flatnonzero(before != after))
    with h5py.File(path) as file:
        chunks = [file["features"].id.get_chunk_info(row) for row in range(40)]
        assert [chunk.chunk_offset[0] for chunk in chunks] == list(range(40))
        assert all(chunk.size == 4 * DIMENSION + 4 for chunk in chunks)  # with its checksum
        mask = file["done"].id.get_offset()
    allowed = {chunks[row].byte_offset + i for row in (0, 3, 4, 39) for i in range(chunks[row].size)}
    allowed |= set(range(mask, mask + 40))
    assert changed and changed <= allowed


def test_attributes_of_either_store_differ_if_the_other_lacks_them() -> None:
    assert attribute_differences(ATTRIBUTES, ATTRIBUTES) == []
    fewer = {key: value for key, value in ATTRIBUTES.items() if key != "crops"}
    assert attribute_differences(ATTRIBUTES, fewer) == ["crops: 10, now None"]
    assert attribute_differences(fewer, ATTRIBUTES) == ["crops: None, now 10"]


WRITER = """
import sys
from pathlib import Path
import numpy as np
sys.path.insert(0, "tests/unit")
from test_partial_store import IMAGES, open_store, rows
from pipeline.images.store import PENDING
with open_store(Path(sys.argv[1])) as store:
    print("begun", flush=True)
    version = 0
    while True:  # again and again, so that a kill meets rows that are overwritten, too
        for begin in range(0, len(IMAGES), 4):
            numbers = list(range(begin, begin + 4))
            store.write(numbers, rows(numbers, version))
            print(begin, version, flush=True)
        version += 1
"""


@pytest.mark.extended
def test_sigkill_at_any_moment_leaves_a_readable_store(tmp_path: Path) -> None:
    """Two dozen kills at random moments: every row that was reported as done is complete."""
    path, draw = tmp_path / "partial.h5", random.Random(0)
    for kill in range(24):
        if kill % 6 == 0:
            path.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout and process.stdout.readline() == "begun\n"
        time.sleep(draw.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        told = [tuple(map(int, line.split())) for line in process.stdout if line.endswith("\n")]
        assert process.wait() == -signal.SIGKILL
        with open_store(path) as store:
            found = {
                int(row): feature
                for numbers, block in store.blocks()
                for row, feature in zip(numbers, block, strict=True)
            }
            assert set(found) == set(np.flatnonzero(store.done == DONE))
        for begin, version in told[
            -9:
        ]:  # the tenth is the current batch, which may be incomplete and is then pending
            for row in range(begin, begin + 4):
                assert row in found and found[row][0] - 1000 * row >= version
        for row, feature in found.items():
            assert np.array_equal(feature, rows([row], int(feature[0]) - 1000 * row)[0])


def test_sigkill_while_the_store_is_created_leaves_none_or_a_whole_one(tmp_path: Path) -> None:
    path, draw = tmp_path / "partial.h5", random.Random(1)
    for _ in range(6):
        path.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.DEVNULL, cwd=ROOT
        )
        while process.poll() is None and not list(tmp_path.iterdir()):
            pass
        time.sleep(draw.uniform(0, 0.005))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if path.exists():
            with h5py.File(path) as file:
                assert file["features"].shape == (40, DIMENSION)
        for left in tmp_path.iterdir():
            left.unlink()


ROOT = Path(__file__).parents[2]


def test_a_damaged_row_is_pending_again_and_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "partial.h5"
    with open_store(path) as store:
        store.write(list(range(8)), rows(list(range(8))))
    with h5py.File(path) as file:
        place = file["features"].id.get_chunk_info(5).byte_offset
    with open(path, "r+b") as raw:
        raw.seek(place + 9)
        raw.write(b"\xff")
    with open_store(path) as store:
        assert list(np.flatnonzero(store.done == DONE)) == [0, 1, 2, 3, 4, 6, 7]
        store.write([5], rows([5]))
    with open_store(path) as store:
        assert list(np.flatnonzero(store.done == DONE)) == list(range(8))
        (found,) = [features for _, features in store.blocks()]
        assert np.array_equal(found, rows(list(range(8))))


def test_rows_next_to_a_damaged_one_keep_their_features_in_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checksum is wrong in the second of two blocks of four rows."""
    monkeypatch.setattr(partial, "BLOCK", 4)
    path = tmp_path / "partial.h5"
    with open_store(path) as store:
        store.write(list(range(8)), rows(list(range(8))))
    with h5py.File(path) as file:
        place = file["features"].id.get_chunk_info(6).byte_offset
    with open(path, "r+b") as raw:
        raw.seek(place + 9)
        raw.write(b"\xff")
    with open_store(path) as store:
        found = [(numbers.tolist(), features) for numbers, features in store.blocks()]
    assert [numbers for numbers, _ in found] == [[0, 1, 2, 3], [4, 5, 7]]
    for numbers, features in found:
        assert np.array_equal(features, rows(numbers))


def test_a_row_marked_done_that_never_reached_the_disk_is_pending(tmp_path: Path) -> None:
    """As after a power cut, which can keep the mask and lose the row."""
    with open_store(tmp_path / "p.h5") as store:
        store.mark([2], DONE)
    with open_store(tmp_path / "p.h5") as store:
        assert (store.done == PENDING).all()


def test_a_store_with_other_attributes_starts_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "p.h5"
    with open_store(path) as store:
        store.write([1], rows([1]))
    with open_store(path, {**ATTRIBUTES, "crops": 5}) as store:
        assert (store.done == PENDING).all()
    assert "it was made differently: crops: 10, now 5" in caplog.text


def test_a_file_that_is_not_a_store_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for content in (b"", b"text", b"\x89HDF\r\n\x1a\n"):
        (tmp_path / "p.h5").write_bytes(content)
        with open_store(tmp_path / "p.h5") as store:
            assert len(store.done) == 40
    assert caplog.text.count("it is not a feature store") == 3


def test_images_that_are_kept_stay_done_in_another_list(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "p.h5"
    with open_store(path) as store:
        store.write([1, 2, 3], rows([1, 2, 3]))
    with open_partial(path, ["photo3", "new", "photo1"], FILES[[3, 8, 1]], ATTRIBUTES, DIMENSION) as store:
        assert list(store.done) == [DONE, PENDING, DONE]
        (found,) = [features for _, features in store.blocks()]
        assert np.array_equal(found, rows([3, 1]))
    assert "resuming after 2 images" in caplog.text


def test_two_extractions_do_not_share_a_store(tmp_path: Path) -> None:
    program = WRITER.replace("version = 0", "sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "p.h5")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout and process.stdout.readline() == "begun\n"
        with pytest.raises(InputError, match="another process is writing it"), open_store(tmp_path / "p.h5"):
            pass
        process.kill()


def test_memory_holds_a_block_not_the_store(tmp_path: Path) -> None:
    count = 3 * BLOCK + 5
    images = [str(number) for number in range(count)]
    with open_partial(tmp_path / "p.h5", images, np.zeros((count, 2), np.int64), {}, 4) as store:
        store.write(range(count), np.ones((count, 4), np.float32))
        sizes = [len(features) for _, features in store.blocks()]
    assert sizes == [BLOCK, BLOCK, BLOCK, 5]


def test_a_store_does_not_depend_on_when_it_was_written(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with open_store(tmp_path / name) as store:
            assert isinstance(store, PartialStore)
            store.write([1], rows([1]))
        os.utime(tmp_path / name, (1, 1))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
