"""A partial download: `.NAME.part`, with its origin in `.NAME.part.json`."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pipeline.common.files import atomic_write
from pipeline.common.json_text import json_value
from pipeline.common.locks import open_locked


class Origin(NamedTuple):
    """The origin of a partial download.

    Attributes:
        validator: strong ETag or Last-Modified of that version of the file; empty: it cannot be continued.
        total: bytes of the whole file, if the server stated the number.
    """

    url: str = ""
    validator: str = ""
    total: int | None = None


class PartialDownload:
    """A partial download. It outlives the process, so that the next one can resume it."""

    def __init__(self, path: Path, file: BinaryIO):
        self.path, self.file, self.is_complete = path, file, False
        self.note = path.with_name(f"{path.name}.json")
        self.origin = _read_origin(self.note) if self.size else Origin()

    @property
    def size(self) -> int:
        """Bytes received so far."""
        return os.fstat(self.file.fileno()).st_size

    def begin(self, origin: Origin) -> None:
        """Start over. The file is emptied first, so its bytes never belong to another recorded origin."""
        self.clear()
        with atomic_write(self.note) as temporary:
            temporary.write_text(json.dumps(origin._asdict()), encoding="utf-8")
        self.origin = origin

    def clear(self) -> None:
        """Delete it."""
        self.file.seek(0)
        self.file.truncate()
        self.note.unlink(missing_ok=True)
        self.origin = Origin()

    def append(self, piece: bytes) -> None:
        """Add bytes at the end, where a later process finds them even if this one is killed."""
        self.file.seek(0, os.SEEK_END)
        self.file.write(piece)
        self.file.flush()

    def finish(self, output: Path) -> None:
        """Rename it to `output`."""
        os.fsync(self.file.fileno())
        os.replace(self.path, output)
        self.note.unlink(missing_ok=True)
        self.is_complete = True


@contextmanager
def open_partial(output: Path) -> Iterator[PartialDownload]:
    """Open the partial download of `output` exclusively; an empty one is removed afterwards.

    Raises:
        InputError: another process has it open.
    """
    path = output.with_name(f".{output.name}.part")
    with open_locked(path) as file:
        part = PartialDownload(path, file)
        try:
            yield part
        finally:
            if not part.size and not part.is_complete:
                part.clear()
                path.unlink()


def _read_origin(path: Path) -> Origin:
    try:
        return Origin(**json_value(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Origin()  # the process was killed before writing it: start over
