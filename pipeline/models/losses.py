"""Triplet losses on distance matrices (MULE, Equations 1 to 3).

Sizes in comments: R anchors, C candidates, k hardest negatives. `slot` is an anchor's or candidate's place
in the batch's list of images; two things belong together when their slots are equal. Every loss needs at
least two images: without a negative there is no triplet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.models.universal import reverse_gradient


@dataclass
class Anchored:
    """Embeddings and the images they belong to.

    vectors: (R, d). slots: (R,) place of each one's image in the batch. each: how many an image has.
    """

    vectors: Tensor
    slots: Tensor
    each: int


@dataclass(frozen=True)
class Triplets:
    """How distances become a loss.

    margin: m. hardest: K, how many of the most violated constraints of an anchor count.
    distance: `euclidean`, sqrt(|a - b|^2 + 1e-4), or `cosine`, 1 - cos.
    """

    margin: float
    hardest: int
    distance: str


def distances(left: Tensor, right: Tensor, kind: str) -> Tensor:
    """Distances (R, C) between unit vectors (R, d) and (C, d)."""
    cosine = left @ right.T
    if kind == "cosine":
        return 1 - cosine
    return ((2 - 2 * cosine).clamp(min=0) + 1e-4).sqrt()


def matching_loss(
    images: Anchored, sentences: Anchored, triplets: Triplets, weights: Mapping[str, float]
) -> Tensor:
    """Image-sentence matching of one language (MULE, Equation 3; Wang et al. 2019).

    1.5 x image term + 1 x sentence term + 0.05 x sentence-only term under the default weights.
    """
    to_images = distances(sentences.vectors, images.vectors, triplets.distance)  # (sentences, n)
    own = sentences.slots[:, None] == images.slots
    positive = to_images[own]  # one a sentence, in order of the sentences
    nearest_images = _nearest_others(to_images, own, images.each, triplets)
    nearest_sentences = _nearest_others(to_images.T, own.T, sentences.each, triplets)
    image_term = _hinge(positive, nearest_images, triplets.margin)
    sentence_term = _hinge(positive, nearest_sentences[own.int().argmax(1)], triplets.margin)
    sentence_only = alignment_loss(sentences, sentences, triplets)
    return (
        weights["image"] * image_term
        + weights["sentence"] * sentence_term
        + weights["sentence_only"] * sentence_only
    )


def alignment_loss(anchors: Anchored, candidates: Anchored, triplets: Triplets) -> Tensor:
    """Hinge over triplets of sentences: the positive is the *farthest* candidate of the anchor's image.

    Negatives are all candidates of other images. Every anchor's image must have candidates.
    """
    matrix = distances(anchors.vectors, candidates.vectors, triplets.distance)  # (R, C)
    own = anchors.slots[:, None] == candidates.slots
    positive = matrix.masked_fill(~own, -torch.inf).amax(1)
    return _hinge(positive, _nearest_others(matrix, own, candidates.each, triplets), triplets.margin)


def neighborhood_loss(languages: Sequence[Anchored], triplets: Triplets) -> Tensor:
    """Neighbourhood constraints on one layer: mean over pairs of languages (MULE, Equation 1).

    Only images that have both languages give anchors; a batch without any such image costs nothing.
    """
    losses = [
        alignment_loss(anchors, second, triplets)
        for first, second in combinations(languages, 2)
        if len((anchors := _with_images_of(first, second)).slots)
    ]
    return torch.stack(losses).mean() if losses else languages[0].vectors.sum() * 0


def classifier_loss(universal: Mapping[int, Tensor], classifier: torch.nn.Module, strength: float) -> Tensor:
    """Cross-entropy of the language classifier on u behind gradient reversal (MULE, Equation 2).

    Args:
        universal: for each language's number its u, (B, d).
        classifier: linear layer (d, languages).
        strength: factor of the reversed gradient.
    """
    labels = [torch.full((len(u),), number, device=u.device) for number, u in universal.items()]
    vectors = reverse_gradient(torch.cat(list(universal.values())), strength)
    return F.cross_entropy(classifier(vectors), torch.cat(labels))


def _nearest_others(matrix: Tensor, own: Tensor, own_each: int, triplets: Triplets) -> Tensor:
    """Distances (R, k) to the k nearest candidates of other images: the most violated constraints."""
    count = min(triplets.hardest, matrix.shape[1] - own_each)
    return matrix.masked_fill(own, torch.inf).topk(count, dim=1, largest=False).values


def _hinge(positive: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Mean over anchors of the mean of [m + D+ - D-]+ (R,), (R, k); zeros count."""
    return (margin + positive[:, None] - negatives).clamp(min=0).mean()


def _with_images_of(first: Anchored, second: Anchored) -> Anchored:
    rows = torch.isin(first.slots, second.slots)
    return Anchored(first.vectors[rows], first.slots[rows], first.each)
