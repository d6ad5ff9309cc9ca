"""Lists of images as CSV: the file of each image, and images that failed."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pipeline.common.errors import raise_together
from pipeline.common.files import atomic_write, reading, require_file, sha256

log = logging.getLogger("pipeline")

COLUMNS = ["image", "path", "size", "time", "sha256"]
FAILED_COLUMNS = ["image", "path", "reason"]


class Photograph(NamedTuple):
    """A photograph's file, and what its features are known by."""

    path: Path
    key: str


def write_image_list(path: Path, files: Mapping[str, Path]) -> None:
    """Write the file of each image, with its size in bytes, time of change (ns since 1970) and SHA-256."""
    rows = []
    for image, file in files.items():
        status = file.stat()
        rows.append((image, file, status.st_size, status.st_mtime_ns, sha256(file)))
    write_table(path, COLUMNS, rows)


def read_image_list(path: Path) -> dict[str, Path]:
    """The file of each image, in the order of the list that `find_images` wrote."""
    return {image: Path(name) for image, name in _rows(path)[COLUMNS[:2]].itertuples(index=False)}


def read_photographs(path: Path) -> dict[str, Photograph]:
    """The photographs of a list that `find_images` wrote, known by their ids and the SHA-256 of their bytes.

    A photograph that has another size or time than the list says, because it was overwritten or copied, is
    read again for its digest.
    """
    photographs = {}
    for image, name, size, time, digest in _rows(path).itertuples(index=False):
        file = Path(name)
        status = file.stat() if file.exists() else None
        if status and (str(status.st_size), str(status.st_mtime_ns)) != (size, time):
            digest = sha256(file)
        photographs[image] = Photograph(file, f"{digest if status else 'missing'} {image}")
    return photographs


def photographs_digest(image_list: Path) -> str:
    """Digest of the photographs of a list; empty if there is no list yet.

    It changes when a photograph is overwritten, which does not change its folder's modification time.
    """
    if not image_list.exists():
        return ""
    lines = (f"{path} {key}\n" for path, key in read_photographs(image_list).values())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _rows(path: Path) -> pd.DataFrame:
    require_file(path, "the list of images", "Make it with `python -m pipeline find-images`.")
    with reading(path, "a list of images", "Make it with `python -m pipeline find-images`."):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        return table[COLUMNS[:2]].join(table.reindex(columns=COLUMNS[2:], fill_value=""))


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, whole or not at all."""
    with atomic_write(path) as temporary:
        pd.DataFrame(list(rows), columns=list(columns)).to_csv(temporary, index=False)


def check_failures(
    reasons: Mapping[str, str], photographs: Mapping[str, Photograph], share: float, output: Path
) -> None:
    """List the images that failed, with the reason, in the CSV file `output`.

    Raises:
        InputError: they are more than a `share` of all images; of any share but 0, one image may fail.
    """
    rows = [(image, photographs[image].path, reason) for image, reason in reasons.items()]
    write_table(output, FAILED_COLUMNS, rows)
    most = max(int(share * len(photographs) + 1e-9), int(share > 0))  # 0.29 of 100 is 29
    if len(rows) > most:
        raise_together(
            (f"{path}: {reason}" for _, path, reason in rows),
            f"{len(rows)} of {len(photographs)} images cannot be decoded, at most {most} may fail; replace "
            "the files and run again (the other images are kept), or raise images.max_failed_fraction "
            f"(all in {output}):",
        )
    if rows:
        log.warning("%d images cannot be decoded and are left out, all in %s", len(rows), output)
