"""The split: a file that assigns every image of a data set to train, val or test.

It does not depend on the languages: configuring another language does not change it.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write
from pipeline.common.photographs import without_ending
from pipeline.datasets.captions import SPLITS
from pipeline.datasets.csv_text import csv_rows

Split = dict[str, str]  # image -> train, val or test, in the order of the data set

COLUMNS = ["image", "split"]


def whole_split(images: Iterable[str], split: Mapping[str, str]) -> Split:
    """The split of all images, in their order; images that `split` lacks are for training."""
    return {image: split.get(image, "train") for image in images}


def limit_to_list(images: Iterable[str], image_list: Path | None) -> list[str]:
    """The images listed in the column `image` of a CSV file; all images if there is no file.

    Raises:
        InputError: no such file or column, an empty name, or images that have no captions.
    """
    ids = list(images)
    if image_list is None:
        return ids
    rows = csv_rows(image_list, "a list of images", "Give a CSV file with a column `image`.", ("image",))
    listed, every_id = _filled(image_list, [row["image"] for row in rows]), set(ids)
    names = {image if image in every_id else image_name(image) for image in listed}
    missing = sorted(names - every_id)
    raise_together(missing, f"{image_list}: {len(missing)} of its {len(names)} images have no captions:")
    return [image for image in ids if image in names]


def _filled(path: Path, images: list[str]) -> list[str]:
    if not all(images):
        raise InputError(
            f"{path}: {images.count('')} rows have no image, first in row {images.index('') + 2}."
        )
    return images


def image_name(image: str) -> str:
    """An image's name without folder and without the ending of an image file: photos/a.jpg is the image a."""
    return without_ending(PurePosixPath(image.replace("\\", "/")).name)


def write_split(split: Mapping[str, str], path: Path) -> None:
    """Write the split of all images as a CSV file with columns image, split."""
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *split.items()])


def read_split(path: Path) -> Split:
    """The split of all images, in their order; raises `InputError` that lists all that is wrong."""
    mend = "Make it with `python -m pipeline split`, or give a CSV file with columns image, split."
    rows = csv_rows(path, "a split of images", mend, ("image", "split"), ("image", "split"))
    images = _filled(path, [row["image"] for row in rows])
    wrong = [row["split"] for row in rows if row["split"] not in SPLITS]
    again = [image for image, count in Counter(images).items() if count > 1]
    mistakes = [f"{len(wrong)} splits are not train, val or test, first {wrong[0]!r}"] if wrong else []
    mistakes += [f"{len(again)} images are in it more than once, first {again[0]!r}"] if again else []
    raise_together(mistakes, f"{path}: not a split of images:")
    return {row["image"]: row["split"] for row in rows}


def predefined_split(path: Path, image_list: Path | None = None) -> Split:
    """The split of a user's file; `a.jpg` is the image a.

    Raises:
        InputError: as `read_split` and `limit_to_list`, if two names refer to one image, or a split is empty.
    """
    split_of_names = read_split(path)
    split = {image_name(image): name for image, name in split_of_names.items()}
    mistakes = [f"no image is in the split {name}" for name in SPLITS if name not in split.values()]
    if len(split) < len(split_of_names):
        mistakes.append(f"{len(split_of_names) - len(split)} images are in it under more than one name")
    raise_together(mistakes, f"{path}: not a split of images:")
    return {image: split[image] for image in limit_to_list(split, image_list)}
