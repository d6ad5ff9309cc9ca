"""Text read line by line in bounded memory: a small gzip file can unpack to any amount."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

_RATIO = 100  # bytes unpacked for each byte; text has three to ten
_ALWAYS_ALLOWED = 16 << 20  # bytes unpacked that are allowed to any file


class _BoundedGzip(gzip.GzipFile):
    """The content of a gzip file, up to what its size allows."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._left = max(_ALWAYS_ALLOWED, _RATIO * path.stat().st_size)

    def read1(self, size: int = -1) -> bytes:
        content = super().read1(size)
        self._left -= len(content)
        if self._left < 0:
            raise EOFError(f"it unpacks to more than {_RATIO} times its size, which text never does")
        return content


def text_lines(path: Path, longest: int, packed: bool) -> Iterator[str]:
    """Lines of a text file in UTF-8, each with its line feed.

    Args:
        longest: characters that a line may have.
        packed: whether the file is gzip.

    Raises:
        EOFError: a line is longer, or the file unpacks to more than text does.
    """
    with (
        _BoundedGzip(path) if packed else open(path, "rb") as raw,
        # newline: some words hold rarer line separators.
        io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as file,
    ):
        number = 0
        while line := file.readline(longest + 1):
            number += 1
            if len(line) > longest:
                raise EOFError(f"line {number} has more than {longest:,} characters")
            yield line
