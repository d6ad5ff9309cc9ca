"""Masked cross-language modelling, MCLM (SMALR, Section 3.2, Equation 2).

Some words of each sentence are replaced by MASK. For a pair of sentences of one image in two languages, one
linear layer, shared by all pairs, predicts from both masked sentences what each lacks: [S_i^m, S_j^m] to
(S_i', S_j'). The loss is the distance of S^m + S' from the unmasked sentence, both normalised to length 1. It
is computed on u and on s, with a separate layer for each. The masked sentences are matched with images as
well.

Sizes in comments: N pairs of places for sentences, L languages, d size of an embedding.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.models.embedding import linear
from pipeline.models.hybrid import HybridEmbedding
from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.matching import MatchingLoss
from pipeline.models.losses.triplets import PLANS, Segment
from pipeline.models.settings import Masking
from pipeline.words.corpus import Sentences


class MaskingLoss(Loss[Masking]):
    """Matching of the masked sentences (Equation 3), and the reconstruction loss (Equation 2).

    `masking`: `mask_probability` of a word; the weights of reconstruction (`weight`) and `matching`.
    """

    def layers(self) -> nn.Module:
        """The layers that predict masked content, [S_i, S_j] (2d) to (S_i', S_j') (2d), one per embedding."""
        model = self.settings.model
        sizes = {"universal": 2 * model.universal_dim, "multimodal": 2 * model.multimodal_dim}
        return nn.ModuleDict({key: linear(size, size) for key, size in sizes.items()})

    def terms(self, step: Step) -> Terms:
        assert isinstance(step.model.universal, HybridEmbedding)
        masking, mask_id = self.block, step.model.universal.mask_id
        masked = {
            language: masked_sentences(batch, mask_id(language), masking.mask_probability)
            for language, batch in step.sentences.items()
        }
        with frozen_statistics(step.model):
            embedded = step.model.embed_sentences(masked)
        predictors, segments = step.model.losses["masking"], step.segments
        assert isinstance(predictors, nn.ModuleDict)
        on_u = reconstruction_loss(predictors["universal"], embedded.universal, step.universal, segments)
        on_s = reconstruction_loss(predictors["multimodal"], embedded.multimodal, step.multimodal, segments)
        assert self.settings.matching
        matching = MatchingLoss(self.settings.matching, self.settings).matching(step, embedded.multimodal)
        return {"masked_matching": masking.matching * matching, "masking": masking.weight * (on_u + on_s)}


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Batch norms leave their running statistics as they are: evaluation never sees a masked sentence.

    Otherwise, and only in models with MCLM, masked sentences would provide more than half of the statistics
    that a sentence branch with batch norm (`recurrent: mean`) is evaluated with.
    """
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum


def masked_sentences(sentences: Sentences, mask: int, share: float) -> Sentences:
    """The sentences, with each word replaced by MASK with probability `share`."""
    masked = torch.rand(sentences.ids.shape) < share
    ids = sentences.ids.masked_fill(masked & (sentences.ids != 0), mask)
    return Sentences(ids, sentences.lengths)


def reconstruction_loss(
    predictor: nn.Module, masked: Tensor, unmasked: Tensor, segments: tuple[Segment, ...]
) -> Tensor:
    """Equation 2: the mean over sentence pairs, averaged over pairs of languages.

    An image's k-th sentence in one language is paired with its k-th in the other; the language with fewer
    sentences repeats them. Languages without a common image form no pair. A batch without pairs has
    loss zero.

    All pairs' distances are computed from inner products of single sentences: S_i^m + S_i' = P_i + Q_j, P
    from the sentence itself and Q from its partner, needs only |P_i + Q_j|^2 and (P_i + Q_j) S_i. This takes
    N L^2 numbers of memory instead of N L^2 d.

    Args:
        masked, unmasked: embeddings of all languages' sentences. segments: the rows of each language.
    """
    assert isinstance(predictor, nn.Linear)
    rows, weights = _pairs(segments, masked.device, masked.dtype)
    lacking, target = (
        embeddings.index_select(0, rows.flatten()).unflatten(0, rows.shape)
        for embeddings in (masked, unmasked)
    )
    target = F.normalize(target, dim=-1)  # (N, L, d)
    return (_distances(lacking, target, predictor) * weights).sum()


@functools.lru_cache(PLANS)
def _pairs(segments: tuple[Segment, ...], device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Rows (N, L) of sentences by image and number, and weights (2, N, L, L) of their distances.

    The first half of the weights is for row i as the first sentence of a pair, from the earlier language; the
    second half is for row i as the second sentence. Where a language lacks an image, its row is arbitrary.
    Two languages form as many pairs for an image as the one with more sentences has, regardless of any third
    language.
    """
    per_image = max(segment.per_image for segment in segments)
    images = np.unique(np.concatenate([segment.slots for segment in segments])).repeat(per_image)  # (N,)
    number = np.tile(np.arange(per_image), len(images) // per_image)
    rows, has_image = [], []
    for segment in segments:
        first = np.searchsorted(segment.slots, images).clip(max=len(segment.slots) - 1)
        has_image.append(segment.slots[first] == images)
        rows.append(segment.rows[np.where(has_image[-1], first + number % segment.per_image, 0)])
    has, counts = np.stack(has_image, 1), np.array([segment.per_image for segment in segments])
    in_range = number[:, None, None] < np.maximum(counts[:, None], counts)
    has_pair = has[:, :, None] & has[:, None] & in_range  # (N, L, L)
    earlier = np.triu(np.ones((len(segments), len(segments)), bool), 1)
    sentences = has_pair.sum(0)
    pairs = max(1, (earlier & (sentences > 0)).sum())  # pairs of languages
    weight = has_pair / np.maximum(sentences, 1) / pairs
    weights = np.stack([weight * earlier, weight * earlier.T])
    on_cpu = torch.from_numpy(np.stack(rows, 1)), torch.from_numpy(weights).to(dtype)
    return to_device(on_cpu[0], device), to_device(on_cpu[1], device)


def _distances(lacking: Tensor, target: Tensor, predictor: nn.Linear) -> Tensor:
    """|l2(P_i + Q_j) - S_i| of each sentence as the first and as the second of a pair, (2, N, L, L).

    Args:
        lacking: S^m, (N, L, d). target: S, at length 1.
    """
    size = lacking.shape[2]
    blocks = predictor.weight.view(2, size, 2, size).transpose(1, 2).reshape(4, size, size)
    predicted = (lacking.flatten(0, 1) @ blocks.mT).unflatten(1, lacking.shape[:2]).unbind()
    # Prediction for the first sentence from itself and the second; for the second from the first and itself.
    from_itself, partner = torch.stack(predicted[::3]), torch.stack(predicted[1:3])
    itself = lacking + from_itself + predictor.bias.view(2, 1, 1, size)  # P, and Q is partner: (2, N, L, d)
    products = torch.cat([itself, target.expand_as(itself)], 2) @ partner.mT
    with_itself, with_target = products.split(lacking.shape[1], 2)
    square = itself.square().sum(-1)[..., None] + partner.square().sum(-1)[..., None, :]
    length = (square + 2 * with_itself).clamp(min=1e-12).sqrt()
    toward = (itself * target).sum(-1)[..., None] + with_target
    # |a - b|^2 = 2 - 2 a b of unit vectors; smaller distances cannot be resolved in float32.
    distances: Tensor = (2 - 2 * toward / length).clamp(min=1e-6).sqrt()
    return distances
