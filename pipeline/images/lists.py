"""Lists of images as CSV: the file of each image, and images that failed."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, reading, require_file
from pipeline.images.cache import photograph_key

COLUMNS = ["image", "path"]
FAILED_COLUMNS = ["image", "path", "reason"]
MAX_SHOWN = 8  # images named in one message


def read_image_list(path: Path) -> dict[str, Path]:
    """The list that `find_images` wrote: image id to file, in the order of the list."""
    require_file(path, "the list of images", "Make it with `python -m pipeline find-images`.")
    with reading(path, "a list of images, CSV with the columns image and path", "Make it with find-images."):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)[COLUMNS]
    if table.empty or table["image"].duplicated().any():
        raise InputError(f"{path}: lists no image, or an image twice. Make it again with find-images.")
    return {image: Path(name) for image, name in table.itertuples(index=False)}


def photographs_digest(image_list: Path) -> str:
    """Digest of the files of a list, their sizes and times; empty if there is no list yet.

    It changes when a photograph is overwritten, which does not change its folder's modification time.
    """
    if not image_list.exists():
        return ""
    lines = (f"{path} {photograph_key(image, path)}\n" for image, path in read_image_list(image_list).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, whole or not at all."""
    with atomic_write(path) as temporary:
        pd.DataFrame(list(rows), columns=list(columns)).to_csv(temporary, index=False)


def check_failures(reasons: Mapping[str, str], paths: Mapping[str, Path], share: float, output: Path) -> None:
    """List the images that failed, with the reason, in the CSV file `output`.

    Raises:
        InputError: they are more than a `share` of all images.
    """
    rows = [(image, paths[image], reason) for image, reason in reasons.items()]
    write_table(output, FAILED_COLUMNS, rows)
    most = int(share * len(paths) + 1e-9)  # 0.29 of 100 is 29
    if len(rows) > most:
        lines = "".join(f"\n  - {path}: {reason}" for _, path, reason in rows[:MAX_SHOWN])
        first = f"first {MAX_SHOWN}, " if len(rows) > MAX_SHOWN else ""
        raise InputError(
            f"{len(rows)} of {len(paths)} images cannot be decoded, at most {most} may fail; replace the "
            "files and run again (the other images are kept), or raise images.max_failed_fraction "
            f"({first}all in {output}):{lines}"
        )
