"""What an index holds: photographs or images with features, and the sentences said of them."""

import logging
import os
import stat
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.select import own_captions
from pipeline.datasets.split import image_name
from pipeline.datasets.table import read_captions

log = logging.getLogger("pipeline")

ENDINGS = (".jpeg", ".jpg", ".png", ".webp")  # what browsers show and uploads may be
RENAME = "Rename all but one, or name the files with --list:"

Sentence = tuple[str, str, str]  # image, language, text


@dataclass(frozen=True)
class Photographs:
    """What is indexed: ids with their files, and features where these are at hand.

    paths: image id to file, in order; None where an image is known by its features alone.
    folder: the only one that its files may lie in.
    """

    paths: Mapping[str, Path | None]
    folder: Path | None


def photographs_in(folder: Path) -> Photographs:
    """Every JPEG, PNG and WebP below a folder, by its path in it; what links lead out of it is left out."""
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder. Give the folder of the photographs.")
    root, found, outside = folder.resolve(), {}, 0
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            if path.suffix.lower() not in ENDINGS:
                continue
            if not _is_file(path) or not path.resolve().is_relative_to(root):
                outside += 1
                continue
            found[path.relative_to(root).as_posix()] = path
    if outside:
        log.warning("%s: %d links that lead nowhere or out of the folder are left out", folder, outside)
    if not found:
        raise InputError(f"{folder}: no photographs in it; looked for {', '.join(ENDINGS)}.")
    return Photographs(dict(sorted(found.items())), root)


def photographs_listed(
    images: Sequence[str], listed: Mapping[str, Path | None], folder: Path | None
) -> Photographs:
    """Images known by their features, with the files that a list or a folder has of them."""
    if folder is None:
        parents = [path.resolve().parent for path in listed.values() if path]
        folder = Path(os.path.commonpath(parents)) if parents else None
    return Photographs({image: listed.get(image) for image in images}, folder and folder.resolve())


def photographs_of_features(images: Sequence[str], folder: Path) -> Photographs:
    """Images known by their features, those that have a photograph in a folder.

    Raises:
        InputError: lists every image with several photographs of its name.
    """
    shown = photographs_in(folder)
    files = ids(images, shown.paths, f"{folder}: several photographs of one name. {RENAME}")
    log.info("%d of the %d images with features have a photograph", len(files), len(images))
    return photographs_listed(
        list(files), {image: shown.paths[file] for image, file in files.items()}, folder
    )


def within(images: Iterable[str], chosen: Iterable[str], split: str) -> list[str]:
    """The images that a split names, in their order; raises `InputError` where it names none of them."""
    images, chosen = list(images), list(chosen)
    named = set(ids(chosen, images, f"--split {split}: several images of one name. {RENAME}").values())
    if not named:
        raise InputError(
            f"--split {split}: none of its {len(chosen)} images is among the {len(images)} found. Give the "
            "photographs or features of these images."
        )
    return [image for image in images if image in named]


def sentences_of(
    tables: Sequence[Path],
    images: Iterable[str],
    within_images: bool = False,
    own_origins: Mapping[str, str] | None = None,
) -> list[Sentence]:
    """The sentences of caption tables, each with the id of its image.

    Args:
        images: ids of the images that are indexed. within_images: leave the sentences of others out.
        own_origins: take only a data set's own captions; the origins of languages whose own captions people
            did not write. None: take all rows.

    Raises:
        InputError: a language has no own captions, or nothing is left of the tables; lists every name in
            the tables that several indexed images have.
    """
    if not tables:
        return []
    table = pd.concat([read_captions(path) for path in tables])
    if own_origins is not None:
        table = _own(table, own_origins, ", ".join(map(str, tables)))
    known = ids(
        table["image"].unique(), images, "Several indexed images of one name in the captions. " + RENAME
    )
    others = int((~table["image"].isin(known.keys())).sum())
    if others:
        log.info("%d of %d sentences are of images that are not indexed", others, len(table))
    if within_images:
        table = table[table["image"].isin(known.keys())]
        if table.empty:
            raise InputError(f"{', '.join(map(str, tables))}: no sentence is of an image that is indexed.")
    return [(known.get(row.image, row.image), row.language, row.caption) for row in table.itertuples()]


def ids(names: Iterable[str], images: Iterable[str], several: str) -> dict[str, str]:
    """The id of the image that each name means; names of none are left out.

    An id is a path in a folder of photographs, or the name that captions have, which leave out folder and
    ending. A name means the image of just that id. If there is none, it means the one with the same name but
    for the ending, in the same folder or where one of the two names no folder. Accents count as the same,
    composed (NFC) or not.

    Args:
        several: heading of the error that lists every name that several images have.
    """
    known: dict[str, list[str]] = {}
    for image in images:
        known.setdefault(_plain(image), []).append(image)
    meant = {}
    for name in names:
        found = known.get(_plain(name), [])
        meant[name] = [name] if name in found else [image for image in found if _may_be(name, image)]
    raise_together(
        [f"{name}: {', '.join(sorted(found))}" for name, found in sorted(meant.items()) if len(found) > 1],
        several,
    )
    return {name: found[0] for name, found in meant.items() if found}


def _own(table: pd.DataFrame, origins: Mapping[str, str], tables: str) -> pd.DataFrame:
    found, missing = [], []
    for language, rows in table.groupby("language", sort=False):
        origin = origins.get(str(language), "human")
        if origin in set(rows["origin"]):
            found.append(own_captions(rows, origin))
        else:
            has = ", ".join(sorted(set(rows["origin"])))
            missing.append(f"{language}: found captions of origin {has}; its own are of {origin}")
    raise_together(missing, f"{tables}: languages without captions of their own; leave them or --own out:")
    return pd.concat(found)


def _plain(image: str) -> str:
    return unicodedata.normalize("NFC", image_name(image))


def _may_be(name: str, image: str) -> bool:
    """Whether folders allow that a name means an image: the same, or none for one of the two."""
    one, other = (
        unicodedata.normalize("NFC", PurePosixPath(each.replace("\\", "/")).parent.as_posix())
        for each in (name, image)
    )
    return one == other or "." in (one, other)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
