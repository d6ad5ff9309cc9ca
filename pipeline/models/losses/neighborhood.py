"""Neighbourhood constraints between languages (MULE, Equation 1)."""

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.triplets import Anchored, alignment_loss
from pipeline.models.settings import Neighborhood, Triplets


class NeighborhoodLoss(Loss[Neighborhood]):
    """Neighbourhood constraints on s and on u; `neighborhood.weight` weighs both."""

    def terms(self, step: Step) -> Terms:
        triplets = self.settings.triplets
        assert triplets
        on_s, on_u = (
            neighborhood_loss(list(layer.values()), triplets) for layer in (step.multimodal, step.universal)
        )
        return {"neighborhood": self.block.weight * (on_s + on_u)}


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


def _with_images_of(first: Anchored, second: Anchored) -> Anchored:
    shared = torch.isin(first.slots, second.slots)
    if shared.all():
        return first
    rows = to_device(torch.nonzero(shared)[:, 0], first.vectors.device)
    return Anchored(first.vectors[rows], first.slots[shared], first.each)
