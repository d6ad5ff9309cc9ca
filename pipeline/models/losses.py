"""Triplet losses on distance matrices (MULE, Equations 1 to 3).

Sizes in comments: R anchors, C candidates, k hardest negatives. `slot` is an anchor's or candidate's place in
the batch's list of images; an anchor and a candidate belong together if their slots are equal. Every loss
needs at least two images: without a negative there is no triplet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.models.universal import reverse_gradient
from pipeline.words.corpus import uploaded


@dataclass
class Anchored:
    """Embeddings and the images they belong to.

    vectors: (R, d). slots: (R,) place of each one's image in the batch, ascending; always on the CPU, so that
    reading them needs no GPU synchronisation. each: how many an image has.
    """

    vectors: Tensor
    slots: Tensor
    each: int


@dataclass(frozen=True)
class Triplets:
    """How distances become a loss.

    margin: m. num_hard_negatives: K, the number of an anchor's most violated constraints that count.
    distance: `euclidean`, sqrt(|a - b|^2 + 1e-4), or `cosine`, 1 - cos.
    """

    margin: float
    num_hard_negatives: int
    distance: str


def distances(cosines: Tensor, kind: str) -> Tensor:
    """Distances between unit vectors from their cosines, of any shape."""
    if kind == "cosine":
        return 1 - cosines
    return ((2 - 2 * cosines).clamp(min=0) + 1e-4).sqrt()


def matching_loss(
    images: Anchored, sentences: Anchored, triplets: Triplets, weights: Mapping[str, float]
) -> Tensor:
    """Image-sentence matching of one language (MULE, Equation 3; Wang et al. 2019).

    1.5 x image term + 1 x sentence term + 0.05 x sentence-only term under the default weights.
    """
    cosines = sentences.vectors @ images.vectors.T  # (sentences, n)
    image_term = _hinge(cosines, _own(sentences, images), triplets)
    # Each image's nearest sentences are found once, whichever of its sentences is the positive.
    with_sentences = sentences.slots[:: sentences.each].contiguous()
    rows = uploaded(with_sentences, cosines.device)
    of_image = cosines.T[rows]  # (images with sentences, sentences)
    own = _own(Anchored(images.vectors, with_sentences, 1), sentences)
    sentence_term = _hinge(of_image, own, triplets, every_positive=True)
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
    return _hinge(anchors.vectors @ candidates.vectors.T, _own(anchors, candidates), triplets)


def neighborhood_loss(languages: Sequence[Anchored], triplets: Triplets) -> Tensor:
    """Neighbourhood constraints on one layer: mean over pairs of languages (MULE, Equation 1).

    Only images with captions in both languages provide anchors; the loss of a batch without such images is
    zero.
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


def _own(anchors: Anchored, candidates: Anchored) -> Tensor:
    """Places (R, each) of each anchor's own candidates, those of its image; it must have them."""
    first = torch.searchsorted(candidates.slots, anchors.slots)
    own = first[:, None] + torch.arange(candidates.each)
    return uploaded(own, candidates.vectors.device)


def _hinge(cosines: Tensor, own: Tensor, triplets: Triplets, every_positive: bool = False) -> Tensor:
    """Mean over anchors of the mean of their k largest [m + D+ - D-]+; zeros count.

    The nearest negatives are selected by cosine, so that distances are computed only for them.

    Args:
        cosines: (R, C). own: (R, each) places of the anchors' positives among the candidates.
        every_positive: each positive forms triplets; otherwise only the farthest does.
    """
    count = min(triplets.num_hard_negatives, cosines.shape[1] - own.shape[1])
    nearest = cosines.detach().scatter(1, own, -torch.inf).topk(count, sorted=False).indices
    chosen = distances(cosines.gather(1, torch.cat([own, nearest], 1)), triplets.distance)
    positives, negatives = chosen.split([own.shape[1], count], 1)  # (R, each), (R, k)
    if not every_positive:
        positives = positives.amax(1, keepdim=True)
    return (triplets.margin + positives[:, :, None] - negatives[:, None]).clamp(min=0).mean()


def _with_images_of(first: Anchored, second: Anchored) -> Anchored:
    shared = torch.isin(first.slots, second.slots)
    if shared.all():
        return first
    rows = uploaded(torch.nonzero(shared)[:, 0], first.vectors.device)
    return Anchored(first.vectors[rows], first.slots[shared], first.each)
