"""Samples: of images for a split, of each image's captions, and halves and fractions of the training images.

A sample depends only on its seed and on what is sampled, so that experiments share captions and images.
"""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from pipeline.common.errors import InputError
from pipeline.datasets.split import Split


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
    order = np.random.default_rng(seed).permutation(sorted(images))
    return {str(image): "test" if place < test else "val" for place, image in enumerate(order[: test + val])}


def caption_sample(part: pd.DataFrame, each: int, seed: int) -> pd.DataFrame:
    """A number of captions of every image, sampled with a seed ("downsampled", Section 5.2).

    The sample of a language does not depend on other languages: its seed is (seed, language, split). Test
    images keep all their captions, which are the queries.

    Args:
        part: sentence table of one language.

    Raises:
        InputError: an image has fewer captions than requested.
    """
    language = str(part["language"].iloc[0])
    samples = []
    for split, of_split in part.groupby("split", sort=False):
        if split == "test":
            samples.append(of_split)
            continue
        order = of_split.sample(frac=1, random_state=_generator(seed, language, str(split)))
        samples.append(order.groupby("image", sort=False).head(each).sort_index())
    few = part[part["split"] != "test"].groupby("image").size()
    few = few[few < each]
    if len(few):
        raise InputError(
            f"{language}: {each} captions of each image are to be sampled, but {len(few)} images have fewer, "
            f"first {few.index[0]!r} with {few.iloc[0]}. Ask for fewer in its `captions_per_image`."
        )
    return pd.concat(samples).sort_index()


def _generator(seed: int, *names: str) -> np.random.Generator:
    """An independent random generator per purpose, so that sampling in one place never changes another."""
    return np.random.default_rng([seed, *"/".join(names).encode()])


def halves(split: Mapping[str, str], seed: int, language: str | None = None) -> dict[str, str]:
    """Each training image's half, `first` or `second`, sampled with a seed (Section 5.3).

    If the number of images is odd, the first half has one image less. The order of `split` does not matter.

    Args:
        language: None: the same halves for all languages, as "overlap" and "disjoint" require. A language:
            separate halves for it, as in the public code, so that any half of one language shares about
            half of its images with each half of another.

    Raises:
        InputError: there are fewer than four training images, but each half needs two.
    """
    images = sorted(image for image, name in split.items() if name == "train")
    if len(images) < 4:
        raise InputError(
            f"There are {len(images)} training images; expected 4 or more, as a half needs two to tell apart."
        )
    order = pd.Series(images).sample(frac=1, random_state=_generator(seed, language or "", "halves"))
    return {image: "first" if place < len(images) // 2 else "second" for place, image in enumerate(order)}


def training_images_after(fraction: float, split: Mapping[str, str], language: str) -> set[str]:
    """The training images that come after a fraction of them, in an order of the language's own."""
    images = pd.Series(sorted(image for image, name in split.items() if name == "train"), dtype=str)
    order = images.sample(frac=1, random_state=_generator(0, language, "captioned images"))
    return set(order[round(fraction * len(order)) :])
