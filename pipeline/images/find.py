"""The list of each image's file, from which features are extracted."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.common.characters import printable_name
from pipeline.common.errors import raise_together
from pipeline.common.photographs import is_photograph, without_ending
from pipeline.datasets.split import read_split
from pipeline.images.lists import COLUMNS, MAX_SHOWN, write_table


def find_images(
    images: Sequence[Path], split: Path, output: Path, missing_hint: str = "", flickr_names: bool = False
) -> None:
    """Write the file of each image of a data set (CSV: image, path).

    Args:
        images: folders of photographs, searched at any depth.
        split: output of `split`: the images of the data set.
        output: list to write: columns image and path; `missing.csv` next to it lists missing images.
        missing_hint: how to obtain the images; printed if some are missing.
        flickr_names: an image's id may also be the file name's part before the first underscore, as in
            Flickr8k.
    """
    write_image_list(images, read_split(split), missing_hint, output, flickr_names)


def write_image_list(
    folders: Sequence[Path], images: Iterable[str], hint: str, output: Path, flickr_names: bool = False
) -> None:
    """Write the file of each image, found anywhere below the folders, sorted; arguments as of `find_images`.

    A file belongs to the id that equals its name without ending. With `flickr_names`, Flickr8k's
    `1000268201_693b08cb0e.jpg` is Flickr30K's `1000268201.jpg`.

    Raises:
        InputError: a folder is missing, or images have no file or several; names the first 8 images.
    """
    raise_together(
        [f"{folder}: not a folder" for folder in folders if not folder.is_dir()],
        f"Give folders that hold the photographs. {hint}".strip(),
    )
    files = _files_of(folders, sorted(set(images)), flickr_names)
    list_of_missing = output.with_name("missing.csv")
    mistakes = {image: _list_of_files(paths) for image, paths in files.items() if len(paths) != 1}
    if mistakes:
        alike = _similar_files(folders, [image for image in mistakes if not files[image]])
        mistakes |= {image: f"no file, but {other}" for image, other in alike.items()}
        write_table(list_of_missing, ["image", "found"], mistakes.items())
        first = f"first {MAX_SHOWN}, " if len(mistakes) > MAX_SHOWN else ""
        raise_together(
            [f"{printable_name(image)}: {files}" for image, files in list(mistakes.items())[:MAX_SHOWN]],
            f"{', '.join(map(str, folders))}: {len(mistakes)} of {len(files)} images do not have exactly one "
            f"file ({first}all in {list_of_missing}). {hint}".strip(),
        )
    write_table(output, COLUMNS, ((image, paths[0]) for image, paths in files.items()))
    list_of_missing.unlink(missing_ok=True)


def _files_of(folders: Sequence[Path], images: Sequence[str], flickr_names: bool) -> Mapping[str, list[str]]:
    image_of = {unicodedata.normalize("NFC", image): image for image in images}
    whole: dict[str, list[str]] = {image: [] for image in images}
    before_underscore: dict[str, list[str]] = {image: [] for image in images}
    for folder, name in _files_below(folders):
        if not is_photograph(name):
            continue
        path = os.path.join(folder, name)
        stem = unicodedata.normalize("NFC", without_ending(name))  # macOS separates accents from letters
        if stem in image_of:
            whole[image_of[stem]].append(path)
        elif flickr_names and (begin := stem.partition("_")[0]) in image_of:
            before_underscore[image_of[begin]].append(path)
    return {image: sorted(whole[image] or before_underscore[image]) for image in images}


def _similar_files(folders: Sequence[Path], images: Iterable[str]) -> dict[str, str]:
    """For images without a file: a file that may be meant, and what to do about it."""
    image_of = {_visible_form(image): image for image in images}
    alike = {}
    for folder, name in _files_below(folders):
        path = os.path.join(folder, name)
        if not is_photograph(name):
            if image := image_of.get(_visible_form(os.path.splitext(name)[0])):
                alike[image] = f"{printable_name(path)}, a format that is not read; save it as JPEG or PNG"
        elif image := image_of.get(_visible_form(without_ending(name))):
            alike[image] = (
                f"{printable_name(path)}, whose name differs in capital letters, blanks or invisible "
                f"characters; rename it"
            )
    return alike


def _visible_form(name: str) -> str:
    """A name as people see it: without differences that are hard to see."""
    plain = unicodedata.normalize("NFKC", name)
    return "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Zs", "Cc")).casefold()


def _files_below(folders: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Folder and name of every file below some folders, in one walk that reads no file.

    Linked folders are walked too, each once.
    """
    folders_walked: set[str] = set()
    for folder in folders:
        for parent, inner, names in os.walk(folder, followlinks=True):
            if (real := os.path.realpath(parent)) in folders_walked:
                inner.clear()
                continue
            folders_walked.add(real)
            yield from ((parent, name) for name in names)


def _list_of_files(paths: Sequence[str]) -> str:
    return f"{len(paths)} files, {', '.join(paths[:3])}" if paths else "no file"
