"""Which file is whose image: the list that extraction works through."""

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.errors import InputError, raise_together
from pipeline.files import existing, written_beside

ENDINGS = frozenset((".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"))
SHOWN = 20  # images named in one message
COLUMNS = ["image", "path"]


def find_images(folders: Sequence[Path], images: Iterable[str], ask: str, output: Path) -> None:
    """Write the file of each image, found anywhere below the folders: columns image and path, sorted.

    A file belongs to the id that its name without ending is, or that stands before the first underscore
    of its name: Flickr8k names `1000268201_693b08cb0e.jpg` what Flickr30K names `1000268201.jpg`.

    Args:
        ask: how to come by the images; said where some are missing.
        output: the list (CSV); where images are missing, all of them are listed in `missing.csv` beside it.

    Raises:
        InputError: a folder is not there, or images have no file or several; names the first 20.
    """
    raise_together(
        [f"{folder}: not a folder" for folder in folders if not folder.is_dir()],
        f"Give folders that hold the photographs. {ask}".strip(),
    )
    found = _found(folders, sorted(set(images)))
    listed = output.with_name("missing.csv")
    mistakes = {image: _described(paths) for image, paths in found.items() if len(paths) != 1}
    if mistakes:
        write_table(listed, ["image", "found"], mistakes.items())
        shown = f"first {SHOWN}, " if len(mistakes) > SHOWN else ""
        raise_together(
            [f"{image}: {found}" for image, found in list(mistakes.items())[:SHOWN]],
            f"{', '.join(map(str, folders))}: {len(mistakes)} of {len(found)} images have not exactly one "
            f"file ({shown}all in {listed}). {ask}".strip(),
        )
    write_table(output, COLUMNS, ((image, paths[0]) for image, paths in found.items()))
    listed.unlink(missing_ok=True)


def read_image_list(path: Path) -> dict[str, Path]:
    """The list that `find_images` wrote: image id to file, in the order of the list."""
    existing(path, "the list of images", "Make it with `python -m pipeline find-images`.")
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if not rows or rows[0] != COLUMNS or any(len(row) != 2 for row in rows):
        raise InputError(f"{path}: not a list of images; expected CSV with the columns image and path.")
    if len(rows) == 1:
        raise InputError(f"{path}: lists no image. Check the caption table that it was made from.")
    listed = {image: Path(name) for image, name in rows[1:]}
    if len(listed) < len(rows) - 1:
        raise InputError(f"{path}: lists images more than once. Make it anew with find-images.")
    return listed


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, whole or not at all."""
    with written_beside(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _found(folders: Sequence[Path], images: Sequence[str]) -> Mapping[str, list[str]]:
    whole: dict[str, list[str]] = {image: [] for image in images}
    before_underscore: dict[str, list[str]] = {image: [] for image in images}
    for path, stem in _photographs(folders):
        if stem in whole:
            whole[stem].append(path)
        elif (begin := stem.partition("_")[0]) in whole:
            before_underscore[begin].append(path)
    return {image: sorted(whole[image] or before_underscore[image]) for image in images}


def _photographs(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Path and name without ending of every image file; one walk, no look at the files themselves."""
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                stem, ending = os.path.splitext(name)
                if ending.lower() in ENDINGS:
                    yield os.path.join(parent, name), stem


def _described(paths: Sequence[str]) -> str:
    return f"{len(paths)} files, {', '.join(paths[:3])}" if paths else "no file"
