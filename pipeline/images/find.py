"""Which file is whose image: the list that extraction works through."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.datasets.split import read_split
from pipeline.images.lists import COLUMNS, write_table

ENDINGS = frozenset((".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"))
SHOWN = 8  # images named in one message


def find_images(
    images: Sequence[Path], split: Path, output: Path, missing_hint: str = "", flickr_names: bool = False
) -> None:
    """Write the file of each image of a data set (CSV: image, path).

    Args:
        images: folders of photographs, searched at any depth.
        split: output of `split`: the images of the data set.
        output: list to write: columns image and path; `missing.csv` beside it lists missing images.
        missing_hint: how to obtain the images; printed if some are missing.
        flickr_names: an image's id may also be the file name's part before the first underscore, as in
            Flickr8k.
    """
    write_image_list(images, read_split(split), missing_hint, output, flickr_names)


def write_image_list(
    folders: Sequence[Path], images: Iterable[str], hint: str, output: Path, flickr_names: bool = False
) -> None:
    """Write the file of each image, found anywhere below the folders: columns image and path, sorted.

    A file belongs to the id that its name without ending is.

    Args:
        flickr_names: whether it may also belong to the id before the first underscore of its name: Flickr8k
            names `1000268201_693b08cb0e.jpg` what Flickr30K names `1000268201.jpg`.
        hint: how to obtain the images; printed if some are missing.
        output: the list (CSV); where images are missing, all of them are listed in `missing.csv` beside it.

    Raises:
        InputError: a folder is not there, or images have no file or several; names the first 8.
    """
    raise_together(
        [f"{folder}: not a folder" for folder in folders if not folder.is_dir()],
        f"Give folders that hold the photographs. {hint}".strip(),
    )
    found = _found(folders, sorted(set(images)), flickr_names)
    listed = output.with_name("missing.csv")
    mistakes = {image: _described(paths) for image, paths in found.items() if len(paths) != 1}
    if mistakes:
        alike = _in_other_case(folders, mistakes)
        mistakes |= {
            image: f"no file, but {path}, whose name has other capital letters; rename it"
            for image, path in alike.items()
            if not found[image]
        }
        write_table(listed, ["image", "found"], mistakes.items())
        shown = f"first {SHOWN}, " if len(mistakes) > SHOWN else ""
        raise_together(
            [f"{image}: {found}" for image, found in list(mistakes.items())[:SHOWN]],
            f"{', '.join(map(str, folders))}: {len(mistakes)} of {len(found)} images do not have exactly one "
            f"file ({shown}all in {listed}). {hint}".strip(),
        )
    write_table(output, COLUMNS, ((image, paths[0]) for image, paths in found.items()))
    listed.unlink(missing_ok=True)


def _found(folders: Sequence[Path], images: Sequence[str], flickr_names: bool) -> Mapping[str, list[str]]:
    named = {unicodedata.normalize("NFC", image): image for image in images}
    whole: dict[str, list[str]] = {image: [] for image in images}
    before_underscore: dict[str, list[str]] = {image: [] for image in images}
    for path, name in _photographs(folders):
        stem = unicodedata.normalize("NFC", name)  # macOS writes accents apart from their letters
        if stem in named:
            whole[named[stem]].append(path)
        elif flickr_names and (begin := stem.partition("_")[0]) in named:
            before_underscore[named[begin]].append(path)
    return {image: sorted(whole[image] or before_underscore[image]) for image in images}


def _in_other_case(folders: Sequence[Path], images: Iterable[str]) -> dict[str, str]:
    """Files that would be those of images if capital and small letters were one."""
    named = {image.casefold(): image for image in images}
    return {named[stem.casefold()]: path for path, stem in _photographs(folders) if stem.casefold() in named}


def _photographs(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Path and name without ending of every image file; one walk, no look at the files themselves.

    Linked folders are walked too, each once.
    """
    seen: set[str] = set()
    for folder in folders:
        for parent, inner, names in os.walk(folder, followlinks=True):
            if (real := os.path.realpath(parent)) in seen:
                inner.clear()
                continue
            seen.add(real)
            for name in names:
                stem, ending = os.path.splitext(name)
                if ending.lower() in ENDINGS:
                    yield os.path.join(parent, name), stem


def _described(paths: Sequence[str]) -> str:
    return f"{len(paths)} files, {', '.join(paths[:3])}" if paths else "no file"
