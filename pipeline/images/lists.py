"""Lists of images as CSV: which file is whose, which failed, which belong to a shard."""

import csv
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file

COLUMNS = ["image", "path"]
FAILED_COLUMNS = ["image", "path", "reason"]
SHOWN = 8  # images named in one message


def read_image_list(path: Path) -> dict[str, Path]:
    """The list that `find_images` wrote: image id to file, in the order of the list."""
    require_file(path, "the list of images", "Make it with `python -m pipeline find-images`.")
    expected = "expected CSV in UTF-8 with the columns image and path. Make it with find-images."
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a list of images ({error}); {expected}") from None
    if not rows or rows[0] != COLUMNS or any(len(row) != 2 or "\0" in "".join(row) for row in rows):
        raise InputError(f"{path}: not a list of images; {expected}")
    if len(rows) == 1:
        raise InputError(f"{path}: lists no image. Check the split that it was made from.")
    listed = {image: Path(name) for image, name in rows[1:]}
    if len(listed) < len(rows) - 1:
        raise InputError(f"{path}: lists images more than once. Recreate it with find-images.")
    return listed


def identity(path: Path) -> tuple[int, int]:
    """Size in bytes and time of change in nanoseconds of a file; zeros for one that is not there."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_size, status.st_mtime_ns


def photographs_digest(listed: Path) -> str:
    """Digest of the files of a list and their identities as they are now; empty while there is no list.

    It changes when a photograph is overwritten in place, of which the time of its folder does not tell.
    """
    if not listed.exists():
        return ""
    lines = (f"{image} {path} {identity(path)}\n" for image, path in read_image_list(listed).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def shard_of(images: Sequence[str], number: int, count: int) -> list[str]:
    """Shard `number` (from 1) of `count`: neighbouring images, shards alike in size up to one image."""
    return list(images[(number - 1) * len(images) // count : number * len(images) // count])


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, whole or not at all."""
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def check_failures(rows: Sequence[tuple[str, str, str]], allowed: int, count: int, listed: Path) -> None:
    """Raise `InputError` where more images failed than allowed, all listed in the CSV `listed`."""
    if len(rows) <= allowed:
        return
    write_table(listed, FAILED_COLUMNS, rows)
    lines = "".join(f"\n  - {path}: {reason}" for _, path, reason in rows[:SHOWN])
    first = f"first {SHOWN}, " if len(rows) > SHOWN else ""
    raise InputError(
        f"{len(rows)} of {count} images cannot be decoded, {allowed} may; replace the files and run again "
        f"(the other images are kept), or raise images.max_failed_fraction ({first}all in {listed}):{lines}"
    )
