"""Files that are written by one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pipeline.common.errors import InputError


@contextmanager
def open_locked(path: Path, wait: bool = False) -> Iterator[BinaryIO]:
    """Open `path` for reading and writing under an exclusive lock; it is created if missing.

    The lock ends with its process, so a killed process holds none.

    Args:
        wait: wait until another process releases the lock; False: raise an error instead.

    Raises:
        InputError: another process has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{path}: another process is writing it. Wait for it or end it, then run this again."
                ) from None
            # The previous holder may have moved or replaced the file: a lock on the old file excludes nobody.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield file
                return
