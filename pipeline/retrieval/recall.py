"""Recall at K and its mean (MULE, "Metrics")."""

from collections.abc import Mapping
from math import lgamma

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pipeline.retrieval.ranks import (
    Similarity,
    dot_products,
    image_to_sentence_ranks,
    sentence_to_image_ranks,
)

KS = (1, 5, 10)


def recall_at_k(ranks: Tensor, k: int) -> float:
    """Share of queries, in percent, whose right answer is among the K nearest."""
    return 100 * int((ranks <= k).sum()) / len(ranks)


def both_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, similarity: Similarity = dot_products
) -> dict[str, Tensor]:
    """Ranks of right answers, `i2s` for each image that has sentences and `s2i` for each sentence.

    Args:
        images: (n, e). sentences: (B, e). image_of: (B,) row of each sentence's image.
        similarity: of sentences to images.
    """
    return {
        "i2s": image_to_sentence_ranks(images, sentences, image_of, similarity),
        "s2i": sentence_to_image_ranks(images, sentences, image_of, similarity),
    }


def recalls(ranks: Mapping[str, Tensor]) -> dict[str, float]:
    """The six recalls and their mean, mR, in percent, of the ranks that `both_ranks` gives.

    Image to sentence counts a hit when any of the image's sentences is among the K nearest; sentence to
    image when its one image is. Recalls are not rounded before the mean.
    """
    found = {f"{way}_R@{k}": recall_at_k(ranks[way], k) for way in ("i2s", "s2i") for k in KS}
    return {**found, "mR": sum(found.values()) / len(found)}


def chance_mean_recall(images: int, image_of: NDArray[np.int64]) -> float:
    """mR, in percent, of a retrieval that answers in random order.

    Args:
        images: how many images there are. image_of: (B,) row of each sentence's image.
    """
    total = len(image_of)
    counts = np.bincount(image_of)
    each, having = np.unique(counts[counts > 0], return_counts=True)
    to_sentence = [
        sum(n * (1 - _none_drawn(total, c, k)) for c, n in zip(each, having, strict=True)) / having.sum()
        for k in KS
    ]
    to_image = [min(1.0, k / images) for k in KS]
    return float(100 * np.mean([*to_sentence, *to_image]))


def _none_drawn(total: int, right: int, k: int) -> float:
    """Probability that k draws without replacement out of `total` miss all `right` ones."""
    if total - right < k:
        return 0.0
    return float(np.exp(_log_choose(total - right, k) - _log_choose(total, k)))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
