"""HDF5 files: written completely or not at all, even on a full disk, and read without external links.

When a write fails, HDF5 ends the process by a segmentation fault, at the latest when Python ends. So HDF5
writes into a file object that never fails: bytes that cannot be written stay in memory, and the error is
raised after HDF5 has closed the file.
"""

import errno
import fcntl
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from pipeline.common.bounds import RATIO, max_unpacked
from pipeline.common.files import atomic_write, reserve_space

_PAGE = 4096  # bytes of a block that could not be written


class _Disk:
    """The file object that HDF5 writes into.

    Attributes:
        failure: the first error of the disk; from then on everything written stays in memory.
    """

    def __init__(self, file: BinaryIO, size: int):
        self.failure: OSError | None = None
        self._file, self._descriptor = file, file.fileno()
        self._size = size  # without space that is only reserved
        self._place = 0
        self._pages: dict[int, bytearray] = {}

    def check(self) -> None:
        """Raise the error of a failed write, if any."""
        if self.failure:
            raise self.failure

    def close(self) -> None:
        """Truncate the file to the size that HDF5 uses, close it, and raise the error of a failed write."""
        with self._file:
            self.check()
            os.ftruncate(self._descriptor, self._size)

    # Methods that h5py calls.

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        self._place = place + (self._size if whence == os.SEEK_END else 0)
        return self._place

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        pass

    def truncate(self, size: int) -> int:
        self._size = size
        return size

    def read(self, size: int) -> bytes:
        content = bytearray(size)
        return bytes(content[: self.readinto(content)])

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer).cast("B")
        for begin, end, content in self._pieces(len(target)):
            target[begin:end] = content
        self._place += len(target)
        return len(target)

    def write(self, buffer: Any) -> int:
        content = memoryview(buffer).cast("B")
        if not self.failure:
            self._try(content)
        if self.failure:
            self._keep(content)
        self._place += len(content)
        self._size = max(self._size, self._place)
        return len(content)

    def _try(self, content: memoryview) -> None:
        place = self._place
        try:
            while content:
                count = os.pwrite(self._descriptor, content, place)
                content, place = content[count:], place + count
        except OSError as error:
            self.failure = error

    def _keep(self, content: memoryview) -> None:
        for begin, end, _ in self._pieces(len(content)):
            number, inner = divmod(self._place + begin, _PAGE)
            page = self._pages.setdefault(number, bytearray(self._on_disk(number * _PAGE, _PAGE)))
            page[inner : inner + end - begin] = content[begin:end]

    def _pieces(self, size: int) -> Iterator[tuple[int, int, bytes]]:
        """Start, end and present content of each piece of the next `size` bytes."""
        if not self._pages and not self.failure:
            yield 0, size, self._on_disk(self._place, size)
            return
        begin = 0
        while begin < size:
            number, inner = divmod(self._place + begin, _PAGE)
            end = min(size, begin + _PAGE - inner)
            page = self._pages.get(number)
            content = page or self._on_disk(number * _PAGE, _PAGE)
            yield begin, end, bytes(content[inner : inner + end - begin])
            begin = end

    def _on_disk(self, place: int, size: int) -> bytes:
        """Bytes of the file; zeros behind its end."""
        content = bytearray()
        while len(content) < size:
            if not (piece := os.pread(self._descriptor, size - len(content), place + len(content))):
                break
            content += piece
        return bytes(content.ljust(size, b"\0"))


class WritableFile(h5py.File):  # type: ignore[misc] # h5py has no types
    """An HDF5 file open for writing, whose disk may fail."""

    def __init__(self, disk: _Disk, mode: str, **options: Any):
        self._disk = disk
        super().__init__(disk, mode, **options)

    def flush(self) -> None:
        """Hand over to the disk what was written until now; raise an `OSError` if it did not take it."""
        super().flush()
        self._disk.check()

    def close(self) -> None:
        """Close the file; raise an `OSError` if the disk did not take everything."""
        if self.id:
            super().close()
            self._disk.close()


@contextmanager
def create_hdf5(path: Path, size: int = 0, **options: Any) -> Iterator[WritableFile]:
    """Create an HDF5 file, which takes the place of `path` if the block succeeds.

    Args:
        size: its minimum size in bytes; a disk with less space fails at once.
        options: of `h5py.File`.
    """
    with atomic_write(path) as temporary:
        temporary.touch()
        reserve_space(temporary, size)
        raw = open(temporary, "r+b", buffering=0)  # noqa: SIM115 - closed with the HDF5 file
        with WritableFile(_Disk(raw, 0), "w", **options) as file:
            yield file


def update_hdf5(path: Path, **options: Any) -> WritableFile:
    """Open an HDF5 file to change it, under a lock that ends when it is closed.

    Raises:
        BlockingIOError: another process has it open for writing.
    """
    raw = open(path, "r+b", buffering=0)  # noqa: SIM115 - closed with the HDF5 file
    try:
        _lock(raw)
        return WritableFile(_Disk(raw, os.fstat(raw.fileno()).st_size), "r+", **options)
    except BaseException:
        raw.close()
        raise


def dataset_mistake(file: h5py.File, name: str) -> str:
    """Why the content of a dataset cannot be read or trusted; empty if it can.

    It must be in the file itself, whose digest detects changes. It must be completely written, with filters
    that are installed, and about as large as it declares.

    Raises:
        KeyError: there is no object of that name.
    """
    if file.get(name, getlink=True) is None:
        raise KeyError(f"there is no {name}")
    try:
        dataset = file[name]
    except KeyError:  # a link to a missing file
        return f"{name}: lies in another file. Copy its content into this one"
    if not isinstance(dataset, h5py.Dataset):
        return f"{name}: found a group, expected a dataset"
    if dataset.shape is None:
        return f"{name}: found a dataset without a shape, which holds nothing. Make the file again"
    if dataset.file.filename != file.filename or dataset.external or dataset.is_virtual:
        return f"{name}: lies in another file. Copy its content into this one"
    if lacking := _lacking_filter(dataset):
        return (
            f"{name}: compressed by {lacking}, which HDF5 lacks here. Write the file again without it, or "
            'with h5py\'s compression="gzip"'
        )
    size = dataset.id.get_storage_size()
    if dataset.nbytes > max_unpacked(size):
        return (
            f"{name}: declares {dataset.nbytes:,} bytes and holds {size:,}, more than {RATIO} to 1, as in "
            f"no real file. Make or fetch the file again"
        )
    if dataset.size and _is_unwritten(dataset):
        return f"{name}: not all of its rows were ever written. Make the file again"
    return ""


def hdf5_reason(error: Exception) -> str:
    """What HDF5 says, without the addresses in memory that it adds."""
    text = (str(error.args[0]) if error.args else str(error)).partition("\n")[0]
    return re.sub(r"\(?\b(?:0x[0-9a-f]+|[a-z ]+ = 0x[0-9a-f]+)\b\)?", "", text)[:200] or type(error).__name__


def _lacking_filter(dataset: h5py.Dataset) -> str:
    pipeline = dataset.id.get_create_plist()
    filters = [pipeline.get_filter(number) for number in range(pipeline.get_nfilters())]
    lacking = [(number, name) for number, _, _, name in filters if not h5py.h5z.filter_avail(number)]
    return ", ".join(f"filter {number} {name.decode(errors='replace')}".strip() for number, name in lacking)


def _is_unwritten(dataset: h5py.Dataset) -> bool:
    """Whether some rows were never written; HDF5 returns a fill value for them."""
    if dataset.chunks is None:
        return not dataset.id.get_storage_size()
    sides = zip(dataset.shape, dataset.chunks, strict=True)
    return bool(dataset.id.get_num_chunks() < math.prod(-(-size // chunk) for size, chunk in sides))


def _lock(file: BinaryIO) -> None:
    """Lock a file as HDF5 itself does: on disks that have locks."""
    without_locks = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in without_locks:
            raise
