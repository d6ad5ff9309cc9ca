"""Hinges over triplets of a distance matrix, which Equations 1 and 3 of MULE share.

Sizes in comments: R anchors, C candidates, k hardest negatives. `slot` is an anchor's or candidate's place in
the batch's list of images; an anchor and a candidate belong together if their slots are equal. Every loss
needs at least two images: without a negative there is no triplet.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.settings import Triplets


@dataclass
class Anchored:
    """Embeddings and the images they belong to.

    vectors: (R, d). slots: (R,) place of each one's image in the batch, ascending; always on the CPU, so that
    reading them needs no GPU synchronisation. each: how many an image has.
    """

    vectors: Tensor
    slots: Tensor
    each: int


def distances(cosines: Tensor, kind: str) -> Tensor:
    """Distances between unit vectors from their cosines, of any shape.

    `euclidean`: sqrt(|a - b|^2 + 1e-4). `cosine`: 1 - cos.
    """
    if kind == "cosine":
        return 1 - cosines
    return ((2 - 2 * cosines).clamp(min=0) + 1e-4).sqrt()


def alignment_loss(anchors: Anchored, candidates: Anchored, triplets: Triplets) -> Tensor:
    """Hinge over triplets of sentences: the positive is the *farthest* candidate of the anchor's image.

    Negatives are all candidates of other images. Every anchor's image must have candidates.
    """
    return hinge(anchors.vectors @ candidates.vectors.T, positive_columns(anchors, candidates), triplets)


def hinge(cosines: Tensor, own: Tensor, triplets: Triplets, every_positive: bool = False) -> Tensor:
    """Mean over anchors of the mean of their k largest [m + D+ - D-]+; zeros count.

    The nearest negatives are selected by cosine, so that distances are computed only for them.

    Args:
        cosines: (R, C). own: (R, each) places of the anchors' positives among the candidates.
        every_positive: each positive forms triplets; otherwise only the farthest does.
    """
    count = min(triplets.num_hard_negatives, cosines.shape[1] - own.shape[1])
    nearest = cosines.detach().scatter(1, own, -torch.inf).topk(count, sorted=False).indices
    chosen = distances(cosines.gather(1, torch.cat([own, nearest], 1)), triplets.distance)
    positives, negatives = chosen[:, : own.shape[1]], chosen[:, own.shape[1] :]  # (R, each), (R, k)
    if not every_positive:
        positives = positives.amax(1, keepdim=True)
    return (triplets.margin + positives[:, :, None] - negatives[:, None]).clamp(min=0).mean()


def positive_columns(anchors: Anchored, candidates: Anchored) -> Tensor:
    """Places (R, each) of each anchor's own candidates, those of its image; it must have them."""
    first = torch.searchsorted(candidates.slots, anchors.slots)
    own = first[:, None] + torch.arange(candidates.each)
    return to_device(own, candidates.vectors.device)
