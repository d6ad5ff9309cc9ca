"""Lists of images as CSV: the file of each image, images that failed, images of a shard."""

import csv
import hashlib
import re
from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file

COLUMNS = ["image", "path"]
FAILED_COLUMNS = ["image", "path", "reason"]
NAMES = "surrogateescape"  # a file's name need not be UTF-8
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # how such names are read
MAX_SHOWN = 8  # images named in one message


def read_image_list(path: Path) -> dict[str, Path]:
    """The list that `find_images` wrote: image id to file, in the order of the list."""
    require_file(path, "the list of images", "Make it with `python -m pipeline find-images`.")
    hint = "expected CSV in UTF-8 with the columns image and path. Make it with find-images."
    try:
        with open(path, encoding="utf-8", errors=NAMES, newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a list of images ({error}); {hint}") from None
    if not rows or rows[0] != COLUMNS or not all(map(_is_line, rows)):
        raise InputError(f"{path}: not a list of images; {hint}")
    if len(rows) == 1:
        raise InputError(f"{path}: lists no image. Check the split that it was made from.")
    files = {image: Path(name) for image, name in rows[1:]}
    if len(files) < len(rows) - 1:
        raise InputError(f"{path}: lists images more than once. Recreate it with find-images.")
    return files


def _is_line(row: Sequence[str]) -> bool:
    """Whether a row names an image, in UTF-8, and a path."""
    return len(row) == 2 and "\0" not in "".join(row) and not _NOT_UTF8.search(row[0])


def identity(path: Path) -> tuple[int, int]:
    """Size in bytes and modification time in nanoseconds of a file; zeros if it is missing."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_size, status.st_mtime_ns


def photographs_digest(image_list: Path) -> str:
    """Digest of the files of a list and their present identities; empty if there is no list yet.

    It changes when a photograph is overwritten, which does not change its folder's modification time.
    """
    if not image_list.exists():
        return ""
    lines = (f"{image} {path} {identity(path)}\n" for image, path in read_image_list(image_list).items())
    return hashlib.sha256("".join(lines).encode(errors=NAMES)).hexdigest()[:16]


class Shard(NamedTuple):
    """Part `number`, from 1, of `total` parts of a list."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """A shard written as I/N."""
        number, _, total = text.partition("/")
        if not (number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total)):
            raise ArgumentTypeError(f"found {text!r}, expected I/N with I from 1 to N, such as 1/8")
        return cls(int(number), int(total))

    def of(self, images: Sequence[str]) -> list[str]:
        """Its images, which are consecutive in the list; shards differ in size by one image at most."""
        begin, end = ((self.number - offset) * len(images) // self.total for offset in (1, 0))
        return list(images[begin:end])


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, whole or not at all."""
    with (
        atomic_write(path) as temporary,
        open(temporary, "w", encoding="utf-8", errors=NAMES, newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def allowed_failures(fraction: float, count: int) -> int:
    """How many of `count` images may fail."""
    return int(fraction * count + 1e-9)  # 0.29 of 100 is 29


def check_failures(rows: Sequence[tuple[str, str, str]], most: int, count: int, output: Path) -> None:
    """Raise `InputError` if more images failed than `most`, all listed in the CSV file `output`."""
    if len(rows) <= most:
        return
    write_table(output, FAILED_COLUMNS, rows)
    lines = "".join(f"\n  - {path}: {reason}" for _, path, reason in rows[:MAX_SHOWN])
    first = f"first {MAX_SHOWN}, " if len(rows) > MAX_SHOWN else ""
    raise InputError(
        f"{len(rows)} of {count} images cannot be decoded, at most {most} may fail; replace the files and "
        f"run again "
        f"(the other images are kept), or raise images.max_failed_fraction ({first}all in {output}):{lines}"
    )
