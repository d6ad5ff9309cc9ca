"""The split: a file that says of every image of a data set whether it is for train, val or test.

It depends on no language: one more that is configured changes nothing in it.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from pipeline.captions.table import SPLITS
from pipeline.errors import InputError, raise_together
from pipeline.files import existing, written_beside

Split = dict[str, str]  # image -> train, val or test, in the order of the data set

COLUMNS = ["image", "split"]

_SHOWN = 5  # names of wrong images in a message


def whole_split(images: Iterable[str], chosen: Mapping[str, str]) -> Split:
    """The split of all images, in their order; those that are not chosen are for training."""
    return {image: chosen.get(image, "train") for image in images}


def restricted(images: Iterable[str], image_list: Path | None) -> list[str]:
    """Those images that stand in the column `image` of a CSV file; all where there is none.

    Raises:
        InputError: no such column, or images that have no captions.
    """
    found = list(images)
    if image_list is None:
        return found
    existing(image_list, "the list of images", "Give a CSV file with a column `image`.")
    with open(image_list, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "image" not in (reader.fieldnames or []):
            raise InputError(f"{image_list}: found columns {reader.fieldnames}; expected one named 'image'.")
        wanted = {row["image"] for row in reader}
    missing = sorted(wanted - set(found))
    raise_together(missing, f"{image_list}: {len(missing)} of its {len(wanted)} images have no captions:")
    return [image for image in found if image in wanted]


def with_split(captions: pd.DataFrame, split: Mapping[str, str]) -> pd.DataFrame:
    """Captions of the images of a split, with it as their column `split`."""
    within = captions[captions["image"].isin(list(split))]
    return within.assign(split=within["image"].map(split).astype("str"))


def write_split(split: Mapping[str, str], path: Path) -> None:
    """Write the split of all images as a CSV file with columns image, split."""
    with written_beside(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *split.items()])


def read_split(path: Path) -> Split:
    """The split of all images, in their order.

    Raises:
        InputError: lists all that is wrong with the file.
    """
    existing(path, "the split of the images", "Make it with `python -m pipeline split`, or give another.")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header, *rows = list(csv.reader(file)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}.") from None
    raise_together(_split_mistakes(header, rows), f"{path}: not a split of images:")
    return {image: split for image, split in rows}


def _split_mistakes(header: list[str], rows: list[list[str]]) -> list[str]:
    if header != COLUMNS:
        return [f"found columns {', '.join(header)}; expected {', '.join(COLUMNS)}"]
    if not rows:
        return ["it names no image"]
    wrong = {
        "has not an image and a split": [len(row) != 2 or not row[0] for row in rows],
        "split is not train, val or test": [row[1:2] not in [[name] for name in SPLITS] for row in rows],
    }
    mistakes = [
        f"{what}: {sum(of)} rows, first in row {of.index(True) + 2}" for what, of in wrong.items() if any(of)
    ]
    images = Counter(row[0] for row in rows if row)
    again = [image for image, count in images.items() if count > 1]
    return [*mistakes, *([f"{len(again)} images stand in it more than once: {some(again)}"] if again else [])]


def some(names: list[str]) -> str:
    """The first few of some names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
