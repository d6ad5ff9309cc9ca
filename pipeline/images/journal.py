"""Features of an unfinished extraction, safe from a kill at any moment.

An HDF5 file that is being written can be left unreadable. A journal only grows: a header line, then one
record of fixed length for each image, with a checksum. What a kill cuts off is at most the last batch.
"""

import fcntl
import json
import logging
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pipeline.errors import InputError

log = logging.getLogger("pipeline")


class Journal:
    """Features by key (16 bytes that identify an image file), in memory and appended to a file."""

    def __init__(self, file: BinaryIO, dimension: int):
        self.file = file
        self.record = np.dtype([("key", "u1", 16), ("feature", "<f4", dimension), ("checksum", "<u4")])
        self.features: dict[bytes, np.ndarray] = {}

    def append(self, keys: list[bytes], features: np.ndarray) -> None:
        """Write features (len(keys), dimension) to the disk."""
        records = np.zeros(len(keys), self.record)
        records["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)
        records["feature"] = features
        records["checksum"] = [_checksum(record) for record in records]
        self.file.write(records.tobytes())
        self.file.flush()
        os.fsync(self.file.fileno())
        self.features.update(zip(keys, records["feature"], strict=True))

    def recover(self) -> None:
        """Read the whole records from here on, and cut off what follows them."""
        begin = self.file.tell()
        content = self.file.read()
        whole = len(content) // self.record.itemsize
        records = np.frombuffer(content, self.record, whole)
        sound = next(
            (i for i, record in enumerate(records) if record["checksum"] != _checksum(record)), whole
        )
        self.features = {record["key"].tobytes(): record["feature"] for record in records[:sound]}
        self.file.seek(begin + sound * self.record.itemsize)
        self.file.truncate()


@contextmanager
def open_journal(path: Path, attributes: Mapping[str, Any], dimension: int) -> Iterator[Journal]:
    """Open a journal: go on where its attributes are these, else start anew.

    Raises:
        InputError: another process is writing it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    header = json.dumps(attributes, sort_keys=True).encode() + b"\n"
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path}: another extraction is writing this file. Wait or stop it.") from None
        journal = Journal(file, dimension)
        found = file.readline()
        if found == header:
            journal.recover()
            log.info("%s: going on after %d images", path, len(journal.features))
        else:
            if found:
                log.warning(
                    "%s: starting anew, it was made differently: %s", path, found.decode("utf-8", "replace")
                )
            file.seek(0)
            file.truncate()
            file.write(header)
        yield journal


def _checksum(record: np.void) -> int:
    return zlib.crc32(record["feature"].tobytes(), zlib.crc32(record["key"].tobytes()))
