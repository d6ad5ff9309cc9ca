"""Neighbourhood constraints between languages (MULE, Equation 1)."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor

from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.triplets import PLANS, Comparison, Part, by_key, compare, hinge_loss
from pipeline.models.settings import Neighborhood, Triplets


class NeighborhoodLoss(Loss[Neighborhood]):
    """Neighbourhood constraints on s and on u; `neighborhood.weight` weighs both."""

    def terms(self, step: Step) -> Terms:
        triplets = self.settings.triplets
        assert triplets
        loss = neighborhood_loss([step.multimodal, step.universal], step.parts, triplets)
        return {"neighborhood": self.block.weight * loss}


def neighborhood_loss(layers: Sequence[Tensor], parts: tuple[Part, ...], triplets: Triplets) -> Tensor:
    """Neighbourhood constraints (MULE, Equation 1): mean over pairs of languages, summed over layers.

    Only images with captions in both languages provide anchors; the loss of a batch without such images is
    zero.

    Args:
        layers: embeddings (N, d) of all languages' sentences. parts: the rows of each language.
    """
    losses = []
    for alike in by_key(layers, lambda vectors: vectors.shape[1]):
        pairs, vectors = _pairs(parts, len(alike)), torch.cat(alike)
        losses.append(hinge_loss(vectors, pairs, triplets) if pairs else vectors.sum() * 0)
    return torch.stack(losses).sum()


@functools.lru_cache(PLANS)
def _pairs(parts: tuple[Part, ...], layers: int) -> tuple[Comparison, ...]:
    """Pairs of languages in several layers, which stand under one another."""
    sentences = sum(len(part.rows) for part in parts)
    pairs = [pair for both in combinations(parts, 2) for pair in compare(*both, weight=1.0)]
    mean = [replace(pair, weight=1 / len(pairs)) for pair in pairs]
    return tuple(pair.shifted(layer * sentences) for layer in range(layers) for pair in mean)
