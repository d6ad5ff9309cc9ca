"""Test and validation images: sampled with a seed, or predefined by lists."""

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import read_utf8, require_file
from pipeline.datasets.csv_text import csv_rows
from pipeline.datasets.split import Split, first_few, image_name


def sampled_split(images: Collection[str], test: int, val: int, seed: int) -> Split:
    """Draw test and validation images without replacement; the order of `images` does not matter.

    Returns:
        The sampled images, and no others.

    Raises:
        InputError: fewer images than requested.
    """
    if len(images) < test + val:
        raise InputError(
            f"{test} test and {val} validation images are requested, but there are only {len(images)} to "
            "sample from. Request fewer, or give more captions."
        )
    import numpy as np  # only here: Snakemake imports this module when it reads the workflow

    order = np.random.default_rng(seed).permutation(sorted(images))
    return {str(image): "test" if place < test else "val" for place, image in enumerate(order[: test + val])}


def predefined_split(lists: Mapping[str, Path], images: Collection[str]) -> Split:
    """The test and validation images of the user's lists.

    A list has one image per line, or is a CSV file with a column `image`. If it also has a column `split`
    (such as split.csv of another run), only the rows of that split count. An image is named by its id, its
    file, or the number at the end of its id (MSCOCO: 9 is COCO_train2014_000000000009).

    Args:
        lists: one file for `test` and one for `val`.
        images: ids of the images that may be in a list.

    Raises:
        InputError: lists every image that is repeated or not in `images`.
    """
    image_of = {_number(image.rpartition("_")[2]): image for image in images} | {
        name: name for name in images
    }
    split: Split = {}
    mistakes: list[str] = []
    for name, path in lists.items():
        names = [_number(image_name(image)) for image in _listed_names(path, name)]
        unknown = [image for image in names if image not in image_of]
        found = [image_of[image] for image in names if image in image_of]
        again = [image for image, count in Counter(found).items() if count > 1 or image in split]
        if unknown:
            mistakes.append(
                f"{path}: {len(unknown)} of its {len(names)} {name} images are not among the {len(images)} "
                f"that can be sampled (captioned in every language): {first_few(unknown)}"
            )
        if again:
            mistakes.append(f"{path}: {len(again)} images are in the lists already: {first_few(again)}")
        if not names:
            mistakes.append(f"{path}: names no {name} images")
        split |= dict.fromkeys(found, name)
    raise_together(mistakes, "The lists of test and validation images cannot be used:")
    return split


def _listed_names(path: Path, split: str) -> list[str]:
    """The names of a list; of a CSV file with a column `split`, those of one split."""
    lines = read_utf8(require_file(path, "the list of images", "Give one image per line.")).splitlines()
    if not lines or "image" not in lines[0].split(","):
        return list(filter(None, map(str.strip, lines)))
    rows = csv_rows(path, "a list of images", "Give a CSV file with a column `image`.", ("image",))
    return [row["image"] for row in rows if row.get("split", split) == split]


def _number(name: str) -> str:
    """A name without the zeros before a number."""
    return (name.lstrip("0") or "0") if name.isdecimal() else name
