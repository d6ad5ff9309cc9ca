"""Ranks and recalls (MULE, "Metrics")."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference.captions import Split
from reference.layers import Weights
from reference.losses import similarities
from reference.model import Settings, WordVectors, embed_images, embed_sentences, universal_words

Ranks = tuple[list[int], list[int]]  # of each image's nearest own sentence, and of each sentence's image


@torch.no_grad()
def model_ranks(
    weights: Weights,
    settings: Settings,
    split: Split,
    language: str,
    word_vectors: WordVectors = universal_words,
) -> Ranks:
    """Ranks among the images that are captioned in the language, and among its sentences."""
    rows, image_of = gallery(split, language)
    ids = [ids for _, ids in split.sentences[language]]
    images = embed_images(weights, settings, split.features[rows])
    sentences = embed_sentences(weights, settings, {language: ids}, False, word_vectors)[language][1]
    return rounded_ranks(similarities(sentences, images, settings["model"]["similarity"]), image_of)


def gallery(split: Split, language: str) -> tuple[list[int], Tensor]:
    """Rows of the images captioned in a language, and of each sentence (B,) the place of its image there."""
    rows = sorted({image for image, _ in split.sentences[language]})
    return rows, torch.tensor([rows.index(image) for image, _ in split.sentences[language]])


def rounded_ranks(similarity: Tensor, image_of: Tensor) -> Ranks:
    """Ranks where similarities (B, n) that differ only by rounding count as equal."""
    return ranks(similarity.round(decimals=12).numpy(), image_of.numpy())


def ranks(similarity: NDArray[np.floating], image_of: NDArray[np.int64]) -> Ranks:
    """Ranks from 1 by a stable sort of each row and column (B, n): of equal candidates the earlier is nearer.

    An image's nearest sentence counts; an image without sentences has no rank.
    """
    to_image = np.argsort(-similarity, axis=1, kind="stable")
    to_sentence = np.argsort(-similarity, axis=0, kind="stable")
    return (
        [1 + int((image_of[to_sentence[:, image]] == image).argmax()) for image in np.unique(image_of)],
        (1 + (to_image == image_of[:, None]).argmax(1)).tolist(),
    )


def recalls(ranks: Ranks) -> dict[str, float]:
    """Recall@K = [1, 5, 10] in both directions and their average mR, in percent."""
    found = {
        f"{direction}_R@{k}": 100 * sum(rank <= k for rank in of_direction) / len(of_direction)
        for direction, of_direction in zip(("i2s", "s2i"), ranks, strict=True)
        for k in (1, 5, 10)
    }
    return {**found, "mR": sum(found.values()) / 6}


def chance_recalls(split: Split, language: str) -> dict[str, float]:
    """The recalls that a random order is expected to have."""
    images = [image for image, _ in split.sentences[language]]
    total, counts = len(images), np.unique(images, return_counts=True)[1].tolist()
    found = {}
    for k in (1, 5, 10):
        missed = [math.comb(total - count, k) / math.comb(total, min(k, total)) for count in counts]
        found[f"i2s_R@{k}"] = 100 * (1 - sum(missed) / len(missed))
        found[f"s2i_R@{k}"] = 100 * min(1.0, k / len(counts))
    return {**found, "mR": sum(found.values()) / 6}
