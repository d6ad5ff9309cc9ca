"""The feature store of a running extraction, which may be killed at any moment.

All space is allocated when the file is created, under another name. From then on only numbers change, never
the file's structure, so a killed process leaves a file that can be opened. A row is one chunk with a
checksum, so an incomplete row damages no other. The mask marks a row as done after the row is written.
"""

import errno
import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, check_disk_space
from pipeline.common.hdf5 import WritableFile, create_hdf5, update_hdf5
from pipeline.common.locks import open_locked
from pipeline.images.store import DONE, FAILED, PENDING, equal, store_images

log = logging.getLogger("pipeline")

BLOCK = 1024  # rows held in memory at once
BESIDE = 64  # bytes of a row besides its features: id, file, mask, checksum, place


class PartialStore:
    """A feature store with rows that are still to come.

    Attributes:
        done: (N,) a copy of the mask: PENDING, DONE or FAILED.
    """

    def __init__(self, file: h5py.File):
        self.file = file
        self.done: np.ndarray = file["done"][...]

    def write(self, rows: Sequence[int], features: np.ndarray) -> None:
        """Write features (len(rows), D); a kill before the end leaves these rows pending."""
        dataset = self.file["features"]
        for row, feature in zip(rows, features, strict=True):
            dataset[row] = feature
        self.file.flush()
        self.mark(rows, DONE)

    def mark(self, rows: Sequence[int] | np.ndarray, value: int) -> None:
        """Set the mask of some rows."""
        self.done[rows] = value
        self.file["done"][...] = self.done  # the bytes of all other rows do not change
        self.file.flush()

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows that are done and undamaged, and their features, at most `BLOCK` at once."""
        for begin in range(0, len(self.done), BLOCK):
            rows = begin + np.flatnonzero(self.done[begin : begin + BLOCK] == DONE)
            if len(rows):
                features = self._read(begin, begin + BLOCK)[rows - begin]
                sound = np.isfinite(features).all(1)
                yield rows[sound], features[sound]

    def _read(self, begin: int, end: int) -> np.ndarray:
        features = self.file["features"]
        try:
            rows: np.ndarray = features[begin:end]
        except OSError:  # a checksum is wrong: read rows one by one, to lose only that row
            rows = np.stack([self._row(row) for row in range(begin, min(end, len(features)))])
        return rows

    def _row(self, row: int) -> np.ndarray:
        features = self.file["features"]
        try:
            values: np.ndarray = features[row]
        except OSError:
            values = np.full(features.shape[1], np.nan, np.float32)
        return values


@contextmanager
def open_partial(
    path: Path,
    images: Sequence[str],
    files: np.ndarray,
    attributes: Mapping[str, object],
    dimension: int,
    earlier: Path | None = None,
) -> Iterator[PartialStore]:
    """Open the store of an unfinished extraction: resume it if it has these attributes, or start over.

    A store with other attributes is moved aside, and resumed when the settings are set back.

    Args:
        files: (len(images), 2) int64, size and modification time of each image's file.
        earlier: path of a finished store, which need not exist and is only read; a new store starts with
            its rows of these images if it has the same attributes.

    Raises:
        InputError: another process is writing it, or its disk has too little room.
    """
    # A lock on the file itself would come too late for two processes that both find no file.
    with open_locked(path.with_name(f".{path.name}.lock")):
        file = _matching_store(path, attributes)
        if not file or store_images(file) != list(images):
            with _finished_store(earlier, attributes) as finished_store:
                stores = [store for store in (finished_store, file) if store]
                create(path, images, files, attributes, dimension, stores)
            if file:
                file.close()
            file = _open_locked(path)
        with file:
            store = PartialStore(file)
            _forget_damaged(store, files)
            if count := int((store.done == DONE).sum()):
                log.info("%s: resuming after %d images", path, count)
            yield store


def _matching_store(path: Path, attributes: Mapping[str, object]) -> WritableFile | None:
    """The unfinished store of these attributes, at `path` or aside; another at `path` goes aside."""
    file = _open_store(path)
    if file and (differences := attribute_differences(dict(file.attrs), attributes)):
        aside = _aside_path(path, file.attrs)
        log.warning("%s: moved to %s, it was made differently: %s", path, aside.name, "; ".join(differences))
        file.close()
        os.replace(path, aside)
        file = None
    if not file and (aside := _aside_path(path, attributes)).exists():
        log.info("%s: continuing from %s", path, aside.name)
        os.replace(aside, path)
        file = _open_store(path)
    return file


def _aside_path(path: Path, attributes: Mapping[str, object]) -> Path:
    """The path at which an unfinished store of these attributes is kept while another is being made."""
    text = repr(sorted((key, _plain(value)) for key, value in attributes.items()))
    return path.with_name(f"{path.name}.{hashlib.sha256(text.encode()).hexdigest()[:12]}")


def create(
    path: Path,
    images: Sequence[str],
    files: np.ndarray,
    attributes: Mapping[str, object],
    dimension: int,
    earlier: Sequence[h5py.File] = (),
) -> None:
    """Create a store with all its space, and the rows of `earlier` stores that they have of these images."""
    size = len(images) * (4 * dimension + BESIDE)
    check_disk_space(path, size)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    # The earliest format: later formats mark a file as open for writing, and a kill would leave the mark.
    with create_hdf5(path, size, libver="earliest") as file:
        file.create_dataset("image", data=images, dtype=h5py.string_dtype("utf-8"))
        file.create_dataset("file", data=files, dtype="<i8")
        file.create_dataset("done", (len(images),), "u1", fillvalue=PENDING, dcpl=properties.copy())
        file.create_dataset(
            "features",
            (len(images), dimension),
            "<f4",
            chunks=(1, dimension),
            fletcher32=True,
            fillvalue=np.nan,
            dcpl=properties,
        )
        file.attrs.update(attributes)
        for source in earlier:
            copy_rows(PartialStore(source), PartialStore(file))


def copy_rows(source: PartialStore, target: PartialStore) -> None:
    """Copy finished rows of the images of `target` from `source`."""
    place = {image: row for row, image in enumerate(store_images(target.file))}
    ids = store_images(source.file)
    old, new = source.file["file"][...], target.file["file"][...]
    for rows, features in source.blocks():
        in_place = np.array([ids[row] in place for row in rows], dtype=bool)  # also of no sound row
        places = [place[ids[row]] for row in rows[in_place]]
        new[places] = old[rows[in_place]]
        target.file["file"][...] = new
        target.write(places, features[in_place])


def finish(store: PartialStore, path: Path, output: Path) -> None:
    """Mark pending rows as failed, and move the store to `output`."""
    store.mark(store.done == PENDING, FAILED)
    store.file.close()
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(path, output)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with atomic_write(output) as temporary:  # on another disk
            shutil.copyfile(path, temporary)
        path.unlink()


def attribute_differences(attributes: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    """Differences between the attributes of two stores, in words."""
    return [
        f"{key}: {_plain(attributes.get(key))}, now {_plain(expected.get(key))}"
        for key in sorted({*attributes, *expected})
        if key not in attributes or key not in expected or not equal(attributes[key], expected[key])
    ]


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _open_store(path: Path) -> WritableFile | None:
    """The store, locked for writing; None if there is none."""
    if not path.exists():
        return None
    try:
        file = _open_locked(path)
    except OSError as error:
        if error.errno:  # of the disk
            raise
        _put_away(path, str(error))
        return None
    if {"image", "file", "done", "features"} <= file.keys():
        return file
    file.close()
    _put_away(path, "it lacks datasets")
    return None


def _put_away(path: Path, why: str) -> None:
    """Keep a file that cannot be read: after a disk error, it may be intact."""
    copy = path.with_name(f"{path.name}.unreadable")
    log.warning("%s: starting over, it is not a feature store (%s); kept as %s", path, why, copy.name)
    os.replace(path, copy)


@contextmanager
def _finished_store(path: Path | None, attributes: Mapping[str, object]) -> Iterator[h5py.File | None]:
    """A finished store with these attributes; None if there is none."""
    if path is None or not path.exists():
        yield None
        return
    try:
        file = h5py.File(path)
    except OSError as error:
        log.warning("%s: not used, it is not a feature store: %s", path, error)
        yield None
        return
    with file:
        if differences := attribute_differences(dict(file.attrs), attributes):
            log.info("%s: not used, it was made with other settings: %s", path, "; ".join(differences))
        yield None if differences else file


def _open_locked(path: Path) -> WritableFile:
    try:
        return update_hdf5(path, libver="earliest")
    except BlockingIOError:
        raise InputError(f"{path}: another extraction is writing this file. Wait or stop it.") from None


def _forget_damaged(store: PartialStore, files: np.ndarray) -> None:
    """Make rows pending again that are damaged, have failed, or whose image file has changed."""
    sound = np.zeros(len(store.done), bool)
    for rows, _ in store.blocks():
        sound[rows] = True
    is_other = (store.file["file"][...] != files).any(1)
    if count := int((is_other & (store.done == DONE)).sum()):
        log.info(
            "%d photographs have changed in size or time since they were read, and are read again", count
        )
    store.mark(~sound | is_other, PENDING)
    store.file["file"][...] = files
    store.file.flush()
