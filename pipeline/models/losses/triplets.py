"""Hinges over triplets, which Equations 1 and 3 of MULE share.

A loss compares anchors with candidates many times: the sentences of each language with images and with those
of other languages. Comparisons of equal shape are one batched product of matrices with one top-k, and what is
selected in all comparisons becomes hinges together: a GPU would wait longer for the launches of many small
operators than for their numbers. Which rows are compared depends only on which images have sentences; it is
planned once for all batches that are alike in this.

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
PLANS = 16  # that are kept

Rows = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Part:
    """The sentences of one language, or the images, among the embeddings of a batch.

    rows: (R,) of the embeddings. slots: (R,) the place of each one's image in the batch, ascending. each: how
    many an image has.
    """

    rows: Rows
    slots: Rows
    each: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Anchors with their positives among candidates, all others of which are negatives.

    anchors: (R,) rows of the embeddings. candidates: (C,) rows. own: (R, each) places of the anchors'
    positives among the candidates. every_positive: each of them forms triplets; otherwise only the farthest
    does. weight: of the mean over the positives that form triplets.
    """

    anchors: Rows
    candidates: Rows
    own: Rows
    every_positive: bool
    weight: float

    @property
    def positives(self) -> int:
        """M."""
        return self.own.size if self.every_positive else len(self.anchors)

    def shifted(self, rows: int) -> "Comparison":
        """The same in embeddings that stand some rows further down."""
        return replace(self, anchors=self.anchors + rows, candidates=self.candidates + rows)


def compare(first: Part, second: Part, weight: float, every_positive: bool = False) -> list[Comparison]:
    """One part's rows as anchors, another's as candidates: what belongs to the same image are positives.

    Only images with both provide anchors; no comparison if there are none. Both parts must be of at least two
    images: without a negative there is no triplet.
    """
    places = np.searchsorted(second.slots, first.slots).clip(max=len(second.slots) - 1)
    shared = second.slots[places] == first.slots
    if not shared.any():
        return []
    own = places[shared, None] + np.arange(second.each)
    return [Comparison(first.rows[shared], second.rows, own, every_positive and second.each > 1, weight)]


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
    compared = zip(plan.stacks, sides[::2], sides[1::2], strict=True)
    positives, negatives = zip(*(_selected(*one, hardest) for one in compared), strict=True)
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


def by_key(parts: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The parts of each key, in the order in which keys first occur."""
    found: dict[Hashable, list[T]] = {}
    for part in parts:
        found.setdefault(key(part), []).append(part)
    return list(found.values())


class _Stack(NamedTuple):
    """Comparisons of equal shape.

    sizes: G R and G C, rows of all anchors and of all candidates. own: (G, R, each), on the device. nearest:
    k, or the number of negatives if it is less.
    """

    sizes: tuple[int, int]
    own: Tensor
    every_positive: bool
    nearest: int


class _Plan(NamedTuple):
    """Stacks; the rows of all, each one's anchors before its candidates; weights (M,) of hinges."""

    stacks: list[_Stack]
    rows: Tensor
    weights: Tensor


@functools.lru_cache(PLANS)
def _plan(
    comparisons: tuple[Comparison, ...], hardest: int, device: torch.device, dtype: torch.dtype
) -> _Plan:
    stacks, rows, weights = [], [], []
    for alike in by_key(comparisons, lambda one: (one.own.shape, len(one.candidates), one.every_positive)):
        (anchors, each), candidates = alike[0].own.shape, len(alike[0].candidates)
        nearest = min(hardest, candidates - each)
        most = max(1, TILE // (anchors * candidates))
        for begin in range(0, len(alike), most):
            tile = alike[begin : begin + most]
            own = to_device(torch.from_numpy(np.stack([one.own for one in tile])), device)
            sizes = len(tile) * anchors, len(tile) * candidates
            stacks.append(_Stack(sizes, own, tile[0].every_positive, nearest))
            rows += [one.anchors for one in tile] + [one.candidates for one in tile]
            weights += [np.full(one.positives, one.weight / (one.positives * nearest)) for one in tile]
    of_all = torch.from_numpy(np.concatenate(rows)), torch.from_numpy(np.concatenate(weights)).to(dtype)
    return _Plan(stacks, *(to_device(numbers, device) for numbers in of_all))


def _selected(stack: _Stack, anchors: Tensor, candidates: Tensor, hardest: int) -> tuple[Tensor, Tensor]:
    """Cosines of anchors with one positive (M, 1) and with their k nearest negatives (M, k)."""
    each, shape = stack.own.shape[2], (len(stack.own), -1)
    cosines = anchors.unflatten(0, shape) @ candidates.unflatten(0, shape).mT  # (G, R, C)
    nearest = cosines.detach().scatter(2, stack.own, -torch.inf).topk(stack.nearest, sorted=False).indices
    chosen = cosines.gather(2, torch.cat([stack.own, nearest], 2))
    positives, negatives = chosen.split([each, stack.nearest], 2)
    if stack.every_positive:
        negatives = negatives.repeat_interleave(each, 1)
    elif each > 1:
        positives = positives.amin(2)
    if stack.nearest < hardest:  # in a small batch; what is missing is infinitely far and costs nothing
        negatives = F.pad(negatives, (0, hardest - stack.nearest), value=-torch.inf)
    return positives.reshape(-1, 1), negatives.flatten(0, 1)
