"""Hinges over triplets, which Equations 1 and 3 of MULE share.

A loss compares anchors with candidates many times: the sentences of each language with images and with those
of other languages. Comparisons of equal shape are one batched product of matrices with one top-k, and what is
selected in all comparisons becomes hinges together: launching many small operators would take a GPU longer
than computing them. Which rows are compared depends only on which images have sentences, so one plan serves
all batches that are alike in this.

Sizes in comments: N embeddings, G comparisons of equal shape, R anchors, C candidates, k hardest negatives, M
positives that form triplets.
"""

import functools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.models.settings import Triplets

TILE = 2**25  # cosines of a batched product at most: 134 MB in float32
PLANS = 16  # plans that are cached

Rows = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Segment:
    """The sentences of one language, or the images, among the embeddings of a batch.

    rows: (R,) of the embeddings. slots: (R,) the place of each row's image in the batch, ascending.
    per_image: rows per image.
    """

    rows: Rows
    slots: Rows
    per_image: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Anchors with their positives among candidates; all other candidates are negatives.

    anchors: (R,) rows of the embeddings. candidates: (C,) rows. positives: (R, per_image) places
    of the anchors' positives among the candidates. every_positive: each positive forms triplets; otherwise
    only the farthest does. weight: of the mean over the positives that form triplets.
    """

    anchors: Rows
    candidates: Rows
    positives: Rows
    every_positive: bool
    weight: float

    @property
    def num_positives(self) -> int:
        """M, the number of positives that form triplets."""
        return self.positives.size if self.every_positive else len(self.anchors)

    def shift(self, rows: int) -> "Comparison":
        """The same comparison, with all rows increased by a number."""
        return replace(self, anchors=self.anchors + rows, candidates=self.candidates + rows)


def compare(first: Segment, second: Segment, weight: float, every_positive: bool = False) -> list[Comparison]:
    """One segment's rows as anchors, another's as candidates; rows of the same image are positives.

    Only images with both provide anchors; no comparison if there are none. Both segments must have at least
    two images: without a negative there is no triplet.
    """
    places = np.searchsorted(second.slots, first.slots).clip(max=len(second.slots) - 1)
    has_both = second.slots[places] == first.slots
    if not has_both.any():
        return []
    positives = places[has_both, None] + np.arange(second.per_image)
    return [
        Comparison(
            first.rows[has_both], second.rows, positives, every_positive and second.per_image > 1, weight
        )
    ]


def hinge_loss(embeddings: Tensor, comparisons: tuple[Comparison, ...], triplets: Triplets) -> Tensor:
    """Weighted sum of comparisons: mean over positives of the mean of the k largest [m + D+ - D-]+.

    Zeros count. The nearest negatives are selected by cosine, so that distances are computed only for them.

    Args:
        embeddings: (N, d) unit vectors.
    """
    hardest = triplets.num_hard_negatives
    plan = _plan(comparisons, hardest, embeddings.device, embeddings.dtype)
    sizes = [size for stack in plan.stacks for size in stack.sizes]
    sides = embeddings.index_select(0, plan.rows).split(sizes)
    stacks = zip(plan.stacks, sides[::2], sides[1::2], strict=True)
    positives, negatives = zip(
        *(_selected_cosines(*stack_and_sides, hardest) for stack_and_sides in stacks), strict=True
    )
    cosines = torch.cat([torch.cat(positives), torch.cat(negatives)], 1)  # (M, 1 + k)
    positive, negative = distances(cosines, triplets.distance).split([1, hardest], 1)
    loss: Tensor = (triplets.margin + positive - negative).relu().sum(1) @ plan.weights
    return loss


def distances(cosines: Tensor, kind: str) -> Tensor:
    """Distances between unit vectors from their cosines, of any shape.

    `euclidean`: sqrt(|a - b|^2 + 1e-4). `cosine`: 1 - cos.
    """
    if kind == "cosine":
        return 1 - cosines
    return ((2 - 2 * cosines).relu() + 1e-4).sqrt()


def by_key(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items of each key, in the order in which keys first occur."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


class _Stack(NamedTuple):
    """Comparisons of equal shape.

    sizes: G R and G C, rows of all anchors and of all candidates. positives: (G, R, per_image), on the
    device. nearest: k, or the number of negatives if it is less.
    """

    sizes: tuple[int, int]
    positives: Tensor
    every_positive: bool
    nearest: int


class _Plan(NamedTuple):
    """Stacks; the rows of all, each stack's anchors before its candidates; weights (M,) of hinges."""

    stacks: list[_Stack]
    rows: Tensor
    weights: Tensor


@functools.lru_cache(PLANS)
def _plan(
    comparisons: tuple[Comparison, ...], hardest: int, device: torch.device, dtype: torch.dtype
) -> _Plan:
    stacks, rows, weights = [], [], []
    for alike in by_key(
        comparisons,
        lambda comparison: (
            comparison.positives.shape,
            len(comparison.candidates),
            comparison.every_positive,
        ),
    ):
        (anchors, per_image), candidates = alike[0].positives.shape, len(alike[0].candidates)
        nearest = min(hardest, candidates - per_image)
        per_tile = max(1, TILE // (anchors * candidates))
        for begin in range(0, len(alike), per_tile):
            tile = alike[begin : begin + per_tile]
            positives = to_device(
                torch.from_numpy(np.stack([comparison.positives for comparison in tile])), device
            )
            sizes = len(tile) * anchors, len(tile) * candidates
            stacks.append(_Stack(sizes, positives, tile[0].every_positive, nearest))
            rows += [comparison.anchors for comparison in tile] + [
                comparison.candidates for comparison in tile
            ]
            weights += [
                np.full(comparison.num_positives, comparison.weight / (comparison.num_positives * nearest))
                for comparison in tile
            ]
    of_all = torch.from_numpy(np.concatenate(rows)), torch.from_numpy(np.concatenate(weights)).to(dtype)
    return _Plan(stacks, *(to_device(numbers, device) for numbers in of_all))


def _selected_cosines(
    stack: _Stack, anchors: Tensor, candidates: Tensor, hardest: int
) -> tuple[Tensor, Tensor]:
    """Cosines of anchors with one positive (M, 1) and with their k nearest negatives (M, k)."""
    per_image, shape = stack.positives.shape[2], (len(stack.positives), -1)
    cosines = anchors.unflatten(0, shape) @ candidates.unflatten(0, shape).mT  # (G, R, C)
    nearest = (
        cosines.detach().scatter(2, stack.positives, -torch.inf).topk(stack.nearest, sorted=False).indices
    )
    compared = cosines.gather(2, torch.cat([stack.positives, nearest], 2))
    positives, negatives = compared.split([per_image, stack.nearest], 2)
    if stack.every_positive:
        negatives = negatives.repeat_interleave(per_image, 1)
    elif per_image > 1:
        positives = positives.amin(2)
    if stack.nearest < hardest:  # in a small batch, missing negatives are infinitely far and cost nothing
        negatives = F.pad(negatives, (0, hardest - stack.nearest), value=-torch.inf)
    return positives.reshape(-1, 1), negatives.flatten(0, 1)
