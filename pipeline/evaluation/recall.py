"""Recall at K and its mean (MULE, "Metrics")."""

from collections.abc import Mapping
from math import comb

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

KS = (1, 5, 10)


def recall_at_k(ranks: Tensor, k: int) -> float:
    """Share of queries, in percent, whose correct answer is among the K nearest."""
    return 100 * int((ranks <= k).sum()) / len(ranks)


def recalls(ranks: Mapping[str, Tensor]) -> dict[str, float]:
    """The six recalls and their mean, mR, in percent, from the ranks of `both_ranks`.

    From image to sentence, a hit is any of the image's sentences among the K nearest; from sentence to
    image, the sentence's only image. Recalls are not rounded before the mean.
    """
    return _with_mean(
        {f"{direction}_R@{k}": recall_at_k(ranks[direction], k) for direction in ("i2s", "s2i") for k in KS}
    )


def chance_recalls(images: int, image_of: NDArray[np.int64]) -> dict[str, float]:
    """The expected six recalls and mR of a random ranking, in percent.

    Args:
        images: how many images there are. image_of: (B,) row of each sentence's image.
    """
    total = len(image_of)
    counts = np.bincount(image_of)
    sentences, images_with = np.unique(counts[counts > 0], return_counts=True)

    def to_sentence(k: int) -> float:
        drawn = min(k, total)  # without replacement, they miss all c sentences of an image with chance:
        missed = [comb(total - c, drawn) / comb(total, drawn) for c in sentences.tolist()]
        return float(100 * (1 - np.average(missed, weights=images_with)))

    return _with_mean(
        {f"i2s_R@{k}": to_sentence(k) for k in KS} | {f"s2i_R@{k}": 100 * min(1.0, k / images) for k in KS}
    )


def _with_mean(recalls: dict[str, float]) -> dict[str, float]:
    return {**recalls, "mR": sum(recalls.values()) / len(recalls)}
