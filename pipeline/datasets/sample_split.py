"""Test and validation images: sampled with a seed, or predefined by lists."""

import csv
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.columns import repeated_columns
from pipeline.datasets.csv_text import csv_text
from pipeline.datasets.split import Split, first_few


def sampled_split(images: Collection[str], test: int, val: int, seed: int) -> Split:
    """Draw test and validation images without replacement; the order of `images` does not matter.

    Returns:
        The sampled images, and no others.

    Raises:
        InputError: fewer images than requested, or a negative seed.
    """
    mistakes = [f"seed: found {seed}; expected 0 or more"] if seed < 0 else []
    if min(test, val) < 1:
        mistakes.append(f"{test} test and {val} validation images are requested; expected 1 or more of each")
    if len(images) < test + val:
        mistakes.append(
            f"{test} test and {val} validation images are requested, but there are only {len(images)} to "
            "sample from; request fewer, or give more captions"
        )
    raise_together(mistakes, "The split cannot be sampled:")
    import numpy as np  # only here: Snakemake imports this module when it reads the workflow

    order = np.random.default_rng(seed).permutation(sorted(images))
    return {str(image): "test" if place < test else "val" for place, image in enumerate(order[: test + val])}


def predefined_split(lists: Mapping[str, Path], images: Collection[str]) -> Split:
    """The test and validation images of the user's lists.

    A list has one image per line, or is a CSV file with a column `image`. If it also has a column `split`
    (such as split.csv of another run), only the rows of that split count. An image is named by its
    id, its file, or the number at the end of its id (MSCOCO: 9 is COCO_train2014_000000000009).

    Args:
        lists: one file for `test` and one for `val`.
        images: ids of the images that may be in a list.

    Raises:
        InputError: lists every image that is repeated or not in `images`, and every unreadable file.
    """
    image_of = {image: image for image in images}
    image_of.update({_name(image.rpartition("_")[2]): image for image in images})
    split: Split = {}
    mistakes: list[str] = []
    for name, path in lists.items():
        names = _listed_names(path, name, mistakes)
        unknown = [image for image in names if image not in image_of]
        if unknown:
            mistakes.append(
                f"{path}: {len(unknown)} of its {len(names)} {name} images are not among the {len(images)} "
                f"that can be sampled (captioned in every language): {first_few(unknown)}"
            )
        again = []
        for image in [image_of[image] for image in names if image in image_of]:
            if image in split:
                again.append(image)
            split[image] = name
        if again:
            mistakes.append(f"{path}: {len(again)} images are in the lists already: {first_few(again)}")
    raise_together(mistakes, "The lists of test and validation images cannot be used:")
    return split


def _listed_names(path: Path, split: str, mistakes: list[str]) -> list[str]:
    try:
        lines = csv_text(path, "the list of images", "Give one image per line, or a CSV file.").splitlines()
    except InputError as error:
        mistakes.append(str(error))
        return []
    header = next(csv.reader(lines[:1]), [])
    if "image" in header and (several := repeated_columns(header)):
        mistakes.append(f"{path}: {several}")
        return []
    names = [_name(name) for name in _names(header, lines, split) if name.strip()]
    if not names:
        mistakes.append(f"{path}: names no {split} images")
    return names


def _names(header: list[str], lines: list[str], split: str) -> Iterator[str]:
    if "image" not in header:
        yield from lines
        return
    for row in csv.DictReader(lines):
        if row.get("split", split) == split:
            yield row["image"] or ""


def _name(text: str) -> str:
    """An image's name without folder, ending, and zeros before a number."""
    name = PurePosixPath(text.strip()).name
    name = name.rpartition(".")[0] if "." in name else name
    return (name.lstrip("0") or "0") if name.isdecimal() else name
