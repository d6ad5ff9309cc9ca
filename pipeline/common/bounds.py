"""Bounds on what a file unpacks to, since a small compressed file can unpack to any amount."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

RATIO = 100  # bytes unpacked for each byte; text has three to ten, photographs and features about one
_ALWAYS_ALLOWED = 16 << 20  # unpacked bytes that every file may have


def max_unpacked(size: int) -> int:
    """Bytes that a file of some size may unpack to; larger content is meant to fill a disk or memory."""
    return max(_ALWAYS_ALLOWED, RATIO * size)


class _BoundedGzip(gzip.GzipFile):
    """The content of a gzip file, up to the limit that follows from its size."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._remaining = max_unpacked(path.stat().st_size)

    def read1(self, size: int = -1) -> bytes:
        content = super().read1(size)
        self._remaining -= len(content)
        if self._remaining < 0:
            raise EOFError(f"it unpacks to more than {RATIO} times its size, which text never does")
        return content


def text_lines(path: Path, max_length: int, is_gzip: bool) -> Iterator[str]:
    """Lines of a text file in UTF-8, each with its line feed.

    Args:
        max_length: characters that a line may have.
        is_gzip: whether the file is compressed by gzip.

    Raises:
        EOFError: a line is longer, or the file unpacks to more than text does.
    """
    with (
        _BoundedGzip(path) if is_gzip else open(path, "rb") as raw,
        # Only newlines end a line: some words contain rarer line separators.
        io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as file,
    ):
        number = 0
        while line := file.readline(max_length + 1):
            number += 1
            if len(line) > max_length:
                raise EOFError(f"line {number} has more than {max_length:,} characters")
            yield line
