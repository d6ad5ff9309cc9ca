"""The list of each image's file, from which features are extracted."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.common.photographs import is_photograph, without_ending
from pipeline.datasets.split import read_split
from pipeline.images.lists import COLUMNS, MAX_SHOWN, write_table


def find_images(
    images: Sequence[Path], split: Path, output: Path, missing_hint: str = "", flickr_names: bool = False
) -> None:
    """Write the file of each image of a data set (CSV: image, path).

    A file belongs to the id that equals its name without ending.

    Args:
        images: folders of photographs, searched at any depth.
        split: output of `split`: the images of the data set.
        output: list to write: columns image and path; `missing.csv` next to it lists missing images.
        missing_hint: how to obtain the images; printed if some are missing.
        flickr_names: an image's id may also be the file name's part before the first underscore: Flickr8k's
            `1000268201_693b08cb0e.jpg` is Flickr30K's `1000268201.jpg`.

    Raises:
        InputError: a folder is missing, or images have no file or several; names the first 8 images.
    """
    raise_together(
        [f"{folder}: not a folder" for folder in images if not folder.is_dir()],
        f"Give folders that hold the photographs. {missing_hint}".strip(),
    )
    files = files_of(images, sorted(read_split(split)), flickr_names)
    list_of_missing = output.with_name("missing.csv")
    mistakes = {image: _found(paths) for image, paths in files.items() if len(paths) != 1}
    if mistakes:
        write_table(list_of_missing, ["image", "found"], mistakes.items())
        first = f"first {MAX_SHOWN}, " if len(mistakes) > MAX_SHOWN else ""
        raise_together(
            [f"{image}: {found}" for image, found in list(mistakes.items())[:MAX_SHOWN]],
            f"{', '.join(map(str, images))}: {len(mistakes)} of {len(files)} images do not have exactly one "
            f"file ({first}all in {list_of_missing}). {missing_hint}".strip(),
        )
    write_table(output, COLUMNS, ((image, paths[0]) for image, paths in files.items()))
    list_of_missing.unlink(missing_ok=True)


def files_of(folders: Iterable[Path], images: Sequence[str], flickr_names: bool) -> dict[str, list[str]]:
    """The photographs below some folders that have the name of each image, sorted.

    Linked folders are searched too.
    """
    image_of = {unicodedata.normalize("NFC", image): image for image in images}
    whole: dict[str, set[str]] = {image: set() for image in images}
    before_underscore: dict[str, set[str]] = {image: set() for image in images}
    for folder in folders:
        for parent, _, names in os.walk(folder, followlinks=True):
            for name in filter(is_photograph, names):
                path = os.path.join(parent, name)
                stem = unicodedata.normalize(
                    "NFC", without_ending(name)
                )  # macOS separates accents from letters
                if stem in image_of:
                    whole[image_of[stem]].add(path)
                elif flickr_names and (begin := stem.partition("_")[0]) in image_of:
                    before_underscore[image_of[begin]].add(path)
    return {image: sorted(whole[image] or before_underscore[image]) for image in images}


def _found(paths: Sequence[str]) -> str:
    return f"{len(paths)} files, {', '.join(paths[:3])}" if paths else "no file"
