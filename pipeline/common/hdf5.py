"""HDF5 files that are written completely or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from pipeline.common.files import atomic_write, check_disk_space


@contextmanager
def create_hdf5(path: Path, size: int = 0) -> Iterator[h5py.File]:
    """Yield a new HDF5 file, which appears at `path` if the block succeeds.

    Args:
        size: bytes of its data, for which there must be room: on a full disk HDF5 ends the process.

    Raises:
        InputError: the disk has too little room.
    """
    check_disk_space(path, size)
    with atomic_write(path) as temporary, h5py.File(temporary, "w") as file:
        yield file
