"""Neighbourhood constraints between languages (MULE, Equation 1)."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor

from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.triplets import PLANS, Comparison, Segment, by_key, compare, hinge_loss
from pipeline.models.settings import Neighborhood, Triplets


class NeighborhoodLoss(Loss[Neighborhood]):
    """Neighbourhood constraints on s and on u; `neighborhood.weight` weighs both."""

    def terms(self, step: Step) -> Terms:
        triplets = self.settings.triplets
        assert triplets
        loss = neighborhood_loss([step.multimodal, step.universal], step.segments, triplets)
        return {"neighborhood": self.block.weight * loss}


def neighborhood_loss(layers: Sequence[Tensor], segments: tuple[Segment, ...], triplets: Triplets) -> Tensor:
    """Neighbourhood constraints (MULE, Equation 1): mean over pairs of languages, summed over layers.

    Only images with captions in both languages provide anchors; the loss of a batch without such images is
    zero.

    Args:
        layers: embeddings (N, d) of all languages' sentences. segments: the rows of each language.
    """
    losses = []
    for alike in by_key(layers, lambda vectors: vectors.shape[1]):
        pairs, vectors = _pairs(segments, len(alike)), torch.cat(alike)
        losses.append(hinge_loss(vectors, pairs, triplets) if pairs else vectors.sum() * 0)
    return torch.stack(losses).sum()


@functools.lru_cache(PLANS)
def _pairs(segments: tuple[Segment, ...], layers: int) -> tuple[Comparison, ...]:
    """Pairs of languages in several layers, whose embeddings follow one another."""
    sentences = sum(len(segment.rows) for segment in segments)
    pairs = [pair for languages in combinations(segments, 2) for pair in compare(*languages, weight=1.0)]
    mean = [replace(pair, weight=1 / len(pairs)) for pair in pairs]
    return tuple(pair.shift(layer * sentences) for layer in range(layers) for pair in mean)
