"""The contents of an index: photographs or images with features, and the sentences that describe them."""

import logging
import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.common.photographs import ENDINGS, is_photograph
from pipeline.datasets.select import original_captions
from pipeline.datasets.split import image_name
from pipeline.datasets.table import read_captions

log = logging.getLogger("pipeline")

RENAME = "Rename all but one, or name the files with --image-list:"

Sentence = tuple[str, str, str]  # image, language, text


@dataclass(frozen=True)
class Photographs:
    """Ids of the images to index, with their files.

    paths: image id to file, in order; None for an image that has only features.
    folder: the only folder that the files may be in.
    """

    paths: Mapping[str, Path | None]
    folder: Path | None


def photographs_in(folder: Path) -> Photographs:
    """Every photograph below a folder, by its path in it; the log counts what is left out."""
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder. Give the folder of the photographs.")
    root, paths = folder.resolve(), {}
    left_out: Counter[str] = Counter()
    for parent, _, names in os.walk(root):
        for path in (Path(parent, name) for name in names):
            if reason := _left_out(path, root):
                left_out[reason] += 1
            else:
                paths[path.relative_to(root).as_posix()] = path
    if left_out:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in left_out.most_common())
        log.warning("%s: left out: %s", folder, counts)
    if not paths:
        raise InputError(f"{folder}: no photographs in it; looked for {', '.join(ENDINGS)}.")
    return Photographs(dict(sorted(paths.items())), root)


def photographs_listed(
    images: Sequence[str], files: Mapping[str, Path | None], folder: Path | None
) -> Photographs:
    """Images with features, and their files in a list or a folder."""
    if folder is None:
        parents = [path.resolve().parent for path in files.values() if path]
        folder = Path(os.path.commonpath(parents)) if parents else None
    return Photographs({image: files.get(image) for image in images}, folder and folder.resolve())


def photographs_of_features(images: Sequence[str], folder: Path) -> Photographs:
    """The images with features that have a photograph in a folder.

    Raises:
        InputError: lists every image with several photographs of its name.
    """
    paths = photographs_in(folder).paths
    files = image_ids(images, paths, f"{folder}: several photographs with one name. {RENAME}")
    log.info("%d of the %d images with features have a photograph", len(files), len(images))
    return photographs_listed(list(files), {image: paths[file] for image, file in files.items()}, folder)


def images_of_split(images: Iterable[str], names: Iterable[str], split: str) -> list[str]:
    """The images that a split names, in their order; raises `InputError` if it names none of them."""
    images, names = list(images), list(names)
    selected = set(
        image_ids(names, images, f"--split {split}: several images with one name. {RENAME}").values()
    )
    if not selected:
        raise InputError(
            f"--split {split}: none of its {len(names)} images is among the {len(images)} found. Give the "
            "photographs or features of these images."
        )
    return [image for image in images if image in selected]


def sentences_of(
    tables: Sequence[Path],
    images: Iterable[str],
    indexed_only: bool = False,
    origins: Mapping[str, str] | None = None,
) -> list[Sentence]:
    """The sentences of caption tables, each with the id of its image.

    Args:
        images: ids of the images that are indexed. indexed_only: leave out the sentences of other images.
        origins: use only a data set's original captions; for languages without human captions, the origin of
            their original captions. None: use all rows.

    Raises:
        InputError: a language has no original captions, or nothing is left of the tables; lists every name
            in the tables that several indexed images have.
    """
    if not tables:
        return []
    table = pd.concat([read_captions(path) for path in tables])
    if origins is not None:
        table = _original(table, origins, ", ".join(map(str, tables)))
    heading = "Several indexed images with one name in the captions. " + RENAME
    id_of = image_ids(table["image"].unique(), images, heading)
    without_image = int((~table["image"].isin(id_of.keys())).sum())
    if without_image:
        log.info("%d of %d sentences belong to images that are not indexed", without_image, len(table))
    if indexed_only:
        table = table[table["image"].isin(id_of.keys())]
        if table.empty:
            raise InputError(f"{', '.join(map(str, tables))}: no sentence belongs to an indexed image.")
    return [(id_of.get(row.image, row.image), row.language, row.caption) for row in table.itertuples()]


def image_ids(names: Iterable[str], images: Iterable[str], heading: str) -> dict[str, str]:
    """The id of the image that each name refers to; names that refer to no image are left out.

    An id is a path in a folder of photographs, or a name without folder and ending, as captions have it. A
    name refers to the image of exactly that id. Otherwise it refers to the image with the same name apart
    from the ending, in the same folder or if one of the two has no folder. Accents are compared after NFC
    normalisation.

    Args:
        heading: heading of the error that lists every name that several images have.
    """
    by_name: dict[str, list[str]] = {}
    for image in images:
        by_name.setdefault(_normalized_name(image), []).append(image)
    matches = {}
    for name in names:
        candidates = by_name.get(_normalized_name(name), [])
        exact = name in candidates
        matches[name] = [name] if exact else [image for image in candidates if _folders_agree(name, image)]
    raise_together(
        [f"{name}: {', '.join(sorted(ids))}" for name, ids in sorted(matches.items()) if len(ids) > 1],
        heading,
    )
    return {name: ids[0] for name, ids in matches.items() if ids}


def _original(table: pd.DataFrame, origins: Mapping[str, str], tables: str) -> pd.DataFrame:
    originals, missing = [], []
    for language, rows in table.groupby("language", sort=False):
        origin = origins.get(str(language), "human")
        if origin in set(rows["origin"]):
            originals.append(original_captions(rows, origin))
        else:
            has = ", ".join(sorted(set(rows["origin"])))
            missing.append(
                f"{language}: found captions of origin {has}; its original captions are of {origin}"
            )
    raise_together(missing, f"{tables}: languages without original captions; leave out them or --original:")
    return pd.concat(originals)


def _normalized_name(image: str) -> str:
    return unicodedata.normalize("NFC", image_name(image))


def _folders_agree(name: str, image: str) -> bool:
    """Whether a name and an image have the same folder, or one of them has none."""
    folder_of_name, folder_of_image = (
        unicodedata.normalize("NFC", PurePosixPath(path.replace("\\", "/")).parent.as_posix())
        for path in (name, image)
    )
    return folder_of_name == folder_of_image or "." in (folder_of_name, folder_of_image)


def _left_out(path: Path, root: Path) -> str:
    """Why a file below a folder is left out; empty if it is a photograph."""
    if not is_photograph(path.name):
        return path.suffix.lower() or "without an ending"
    if not _is_file(path) or not path.resolve().is_relative_to(root):
        return "broken links, or links out of the folder"
    try:
        str(path.relative_to(root)).encode()
    except UnicodeEncodeError:
        return "names that are not UTF-8; rename these files"
    return ""


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
