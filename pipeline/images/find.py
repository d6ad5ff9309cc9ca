"""The list of each image's file, from which features are extracted."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from pipeline.common.errors import raise_together
from pipeline.common.photographs import photographs_below, without_ending
from pipeline.datasets.split import read_split
from pipeline.images.lists import write_image_list, write_table


def find_images(
    images: Sequence[Path], split: Path, output: Path, missing_hint: str = "", flickr_names: bool = False
) -> None:
    """Write the file of each image of a data set, and the digest of its bytes.

    A file belongs to the id that equals its name without extension.

    Args:
        images: folders of photographs, searched at any depth, without the thumbnails of disks (@eaDir, ...).
        split: output of `split`: the images of the data set.
        output: list to write (CSV); `missing.csv` next to it lists missing images.
        missing_hint: how to obtain the images; printed if some are missing.
        flickr_names: an image's id may also be the file name's part before the first underscore: Flickr8k's
            `1000268201_693b08cb0e.jpg` is Flickr30K's `1000268201.jpg`.

    Raises:
        InputError: a folder is missing, or images have no file or several; names the first of them.
    """
    raise_together(
        [f"{folder}: not a folder" for folder in images if not folder.is_dir()],
        f"Give folders that hold the photographs. {missing_hint}".strip(),
    )
    every = [os.path.join(folder, path) for folder in images for path in photographs_below(folder)]
    files = files_of(every, sorted(read_split(split)), flickr_names)
    list_of_missing = output.with_name("missing.csv")
    probable = {_loosely(path): path for path in every}
    mistakes = {
        image: _found(paths, probable.get(_loosely(image)))
        for image, paths in files.items()
        if len(paths) != 1
    }
    if mistakes:
        write_table(list_of_missing, ["image", "found"], mistakes.items())
        raise_together(
            (f"{image}: {found}" for image, found in mistakes.items()),
            f"{', '.join(map(str, images))}: {len(mistakes)} of {len(files)} images do not have exactly one "
            f"file (all in {list_of_missing}). {missing_hint}".strip(),
        )
    write_image_list(output, {image: Path(paths[0]) for image, paths in files.items()})
    list_of_missing.unlink(missing_ok=True)


def files_of(photographs: Iterable[str], images: Sequence[str], flickr_names: bool) -> dict[str, list[str]]:
    """The photographs that have the name of each image, sorted."""
    image_of = {unicodedata.normalize("NFC", image): image for image in images}
    whole: dict[str, set[str]] = {image: set() for image in images}
    before_underscore: dict[str, set[str]] = {image: set() for image in images}
    for path in photographs:
        # macOS separates accents from letters.
        stem = unicodedata.normalize("NFC", without_ending(os.path.basename(path)))
        if stem in image_of:
            whole[image_of[stem]].add(path)
        elif flickr_names and (begin := stem.partition("_")[0]) in image_of:
            before_underscore[image_of[begin]].add(path)
    return {image: sorted(whole[image] or before_underscore[image]) for image in images}


def _found(paths: Sequence[str], probable: str | None) -> str:
    if paths:
        return f"{len(paths)} files, {', '.join(paths[:3])}"
    return f"no file; is it {probable}? Correct the id in the captions." if probable else "no file"


def _loosely(name: str) -> str:
    """A name without what programs change: zeros before it, `.0` after it, `%20` for blanks, capitals."""
    return unquote(without_ending(os.path.basename(name))).removesuffix(".0").lstrip("0").casefold()
