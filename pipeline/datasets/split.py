"""The split: a file that assigns every image of a data set to train, val or test.

It does not depend on the languages: configuring another language does not change it.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pipeline.common.characters import unseen_in
from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write
from pipeline.common.photographs import without_ending
from pipeline.datasets.captions import SPLITS
from pipeline.datasets.columns import repeated_columns
from pipeline.datasets.csv_text import SPOILT, csv_rows, is_spoilt, separator_mistake

Split = dict[str, str]  # image -> train, val or test, in the order of the data set

COLUMNS = ["image", "split"]

_MAX_SHOWN = 5  # names of wrong images in a message


def whole_split(images: Iterable[str], split: Mapping[str, str]) -> Split:
    """The split of all images, in their order; images in neither list are for training."""
    return {image: split.get(image, "train") for image in images}


def limit_to_list(images: Iterable[str], image_list: Path | None) -> list[str]:
    """The images listed in the column `image` of a CSV file; all images without a file.

    Raises:
        InputError: no such column, or images that have no captions.
    """
    ids = list(images)
    if image_list is None:
        return ids
    rows = listed_images(image_list)
    every_id = set(ids)
    names = {image if image in every_id else image_name(image) for image in rows}
    missing = sorted(names - every_id)
    raise_together(missing, f"{image_list}: {len(missing)} of its {len(names)} images have no captions:")
    return [image for image in ids if image in names]


def listed_images(path: Path) -> list[str]:
    """The column `image` of a CSV file.

    Raises:
        InputError: not a CSV file with that column; lists every row without an image.
    """
    rows = list(csv_rows(path, "the list of images", "Give a CSV file with a column `image`."))
    _, header = rows[0] if rows else (1, [])
    if "image" not in header:
        problem = separator_mistake(header) or f"found columns {', '.join(header) or 'none'}"
        raise InputError(f"{path}: {problem}; expected one named 'image'.")
    if several := repeated_columns(header):
        raise InputError(f"{path}: {several}.")
    place = header.index("image")
    names = {line: row[place].strip() if len(row) > place else "" for line, row in rows[1:]}
    mistakes = [f"line {line}: no image" for line, name in names.items() if not name]
    mistakes += [f"line {line}: a line break in a name" for line, name in names.items() if "\n" in name]
    mistakes += [
        f"line {line}: a name with {character}, which cannot be seen"
        for line, name in names.items()
        if "\n" not in name and (character := unseen_in(name))
    ]
    mistakes += [f"line {line}: {name!r}, {SPOILT}" for line, name in names.items() if is_spoilt(name)]
    mistakes += [] if names else ["it names no image"]
    raise_together(mistakes, f"{path}: not a list of images:")
    return list(names.values())


def image_name(image: str) -> str:
    """An image's name without folder and without the ending of an image file: photos/a.jpg is the image a."""
    return without_ending(PurePosixPath(image.replace("\\", "/")).name)


def write_split(split: Mapping[str, str], path: Path) -> None:
    """Write the split of all images as a CSV file with columns image, split."""
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *split.items()])


def read_split(path: Path) -> Split:
    """The split of all images, in their order.

    Raises:
        InputError: lists all that is wrong with the file.
    """
    mend = "Make it with `python -m pipeline split`, or give another."
    (_, header), *lines = list(csv_rows(path, "the split of the images", mend)) or [(1, [])]
    rows = [[field.strip() for field in row] for _, row in lines]
    mistakes = _split_mistakes(header, rows, [line for line, _ in lines])
    raise_together(mistakes, f"{path}: not a split of images:")
    return {image: split for image, split in rows}


def _split_mistakes(header: list[str], rows: list[list[str]], lines: list[int]) -> list[str]:
    if header != COLUMNS:
        other = separator_mistake(header)
        return [other or f"found columns {', '.join(header) or 'none'}; expected {', '.join(COLUMNS)}"]
    if not rows:
        return ["it names no image"]
    wrong = {
        "lacks an image or a split": [len(row) != 2 or not row[0] for row in rows],
        "split is not train, val or test": [row[1:2] not in [[name] for name in SPLITS] for row in rows],
        "a quotation mark is not closed and takes in the next rows": [
            any("\n" in field for field in row) for row in rows
        ],
        "a name has a character that cannot be seen": [
            bool(row) and "\n" not in row[0] and bool(unseen_in(row[0])) for row in rows
        ],
    }
    mistakes = [
        f"{what}: {sum(of)} rows, first in line {lines[of.index(True)]}"
        for what, of in wrong.items()
        if any(of)
    ]
    images = Counter(row[0] for row in rows if row)
    again = [image for image, count in images.items() if count > 1]
    return [
        *mistakes,
        *([f"{len(again)} images are in it more than once: {first_few(again)}"] if again else []),
    ]


def first_few(names: list[str]) -> str:
    """The first few of some names, and how many more there are."""
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return ", ".join(names[:_MAX_SHOWN]) + more
