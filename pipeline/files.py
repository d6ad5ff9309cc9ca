"""Files that are either whole or not there."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import InputError


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder; move it onto `path` once the block succeeds.

    A reader never sees half a file, and a kill at any moment leaves an earlier `path` as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def existing(path: Path, what: str, mend: str) -> Path:
    """Return `path`, or raise an `InputError` that names `what` is missing and how to `mend` it."""
    if not path.exists():
        raise InputError(f"{path}: {what} is not there. {mend}")
    return path
