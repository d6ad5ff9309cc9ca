"""Masked cross-language modelling, MCLM (SMALR, Section 3.2, Equation 2).

Some words of each sentence are replaced by MASK. For a pair of sentences of one image in two languages, one
linear layer, shared by all pairs, predicts from both masked sentences what each lacks: [S_i^m, S_j^m] to
(S_i', S_j'). The loss is the distance of S^m + S' from the unmasked sentence, both normalised to length 1. It
is computed on u and on s, with a separate layer for each. The masked sentences are matched with images as
well.

Sizes in comments: N pairs of places for sentences, L languages, d size of an embedding.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.models.hybrid import HybridEmbedding
from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.matching import MatchingLoss
from pipeline.models.losses.triplets import Anchored
from pipeline.models.settings import Masking
from pipeline.models.universal import linear
from pipeline.models.word_model import WordModel
from pipeline.words.corpus import Sentences


class MaskingLoss(Loss[Masking]):
    """Matching of the masked sentences (Equation 3), and the reconstruction loss (Equation 2).

    The settings `masking`: `share` of the words that are masked, `weight` of the reconstruction, and
    `matching`, the weight of the masked sentences' matching.
    """

    def layers(self) -> nn.Module:
        """The layers that predict what is masked, [S_i, S_j] (2d) to (S_i', S_j') (2d), one per embedding."""
        model = self.settings.model
        sizes = {"universal": 2 * model.universal_dim, "multimodal": 2 * model.multimodal_dim}
        return nn.ModuleDict({key: linear(size, size) for key, size in sizes.items()})

    def terms(self, step: Step) -> Terms:
        assert isinstance(step.model, WordModel) and isinstance(step.model.universal, HybridEmbedding)
        masking, mask_id = self.block, step.model.universal.mask_id
        masked = {
            language: masked_sentences(batch, mask_id(language), masking.mask_probability)
            for language, batch in step.sentences.items()
        }
        with frozen_statistics(step.model):
            embedded = step.embed(masked)
        universal = {
            key: replace(step.universal[key], vectors=part.universal) for key, part in embedded.items()
        }
        multimodal = {
            key: replace(step.multimodal[key], vectors=part.multimodal) for key, part in embedded.items()
        }
        predictors = step.model.losses["masking"]
        assert isinstance(predictors, nn.ModuleDict)
        on_u = reconstruction_loss(predictors["universal"], universal, step.universal)
        on_s = reconstruction_loss(predictors["multimodal"], multimodal, step.multimodal)
        assert self.settings.matching
        matching = MatchingLoss(self.settings.matching, self.settings).matching(step.images, multimodal)
        return {
            "masked_matching": masking.matching * matching,
            "masking": masking.weight * (on_u + on_s),
        }


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Batch norms leave their running statistics as they are: evaluation never sees a masked sentence.

    Otherwise more than half of what a sentence branch with batch norm (`recurrent: mean`) is evaluated with
    would be statistics of masked sentences, in models with MCLM alone.
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
    chosen = to_device(torch.rand(sentences.ids.shape) < share, sentences.ids.device)
    ids = sentences.ids.masked_fill(chosen & (sentences.ids != 0), mask)
    return Sentences(ids, sentences.lengths)


def reconstruction_loss(
    predictor: nn.Module, masked: Mapping[str, Anchored], whole: Mapping[str, Anchored]
) -> Tensor:
    """Equation 2: the mean over sentence pairs, averaged over pairs of languages.

    An image's k-th sentence in one language is paired with its k-th in the other; the language with fewer
    repeats them. Languages without a common image form no pair; the loss of a batch without pairs is zero.

    All pairs' distances come from inner products of what single sentences give: S_i^m + S_i' = P_i + Q_j, P
    of the sentence itself and Q of its partner, needs |P_i + Q_j|^2 and (P_i + Q_j) S_i alone. Memory is
    N L^2 numbers where the pairs themselves would have N L^2 d.
    """
    assert isinstance(predictor, nn.Linear)
    rows, both = _pair_rows(list(masked.values()))
    device = predictor.weight.device
    lacking, target = (_dense(list(of.values()), rows, device) for of in (masked, whole))  # (N, L, d)
    target = F.normalize(target, dim=-1)
    size = target.shape[2]
    to_first, to_second = predictor.weight.split(size)
    bias_first, bias_second = predictor.bias.split(size)
    as_first = _distances(
        lacking + lacking @ to_first[:, :size].T + bias_first, lacking @ to_first[:, size:].T, target
    )
    as_second = _distances(
        lacking + lacking @ to_second[:, size:].T + bias_second, lacking @ to_second[:, :size].T, target
    )
    # Row i, column j: language i's sentence beside language j's; the earlier language is the first of a pair.
    loss = torch.where(_earlier(len(masked), device), as_first, as_second)  # (N, L, L)
    pairs = both.sum(0)  # (L, L) sentences of each pair
    if not pairs.any():
        return lacking.sum() * 0
    weights = torch.where(pairs > 0, 1 / pairs.clamp(min=1).double(), 0.0) / ((pairs > 0).sum() / 2)
    return (loss * to_device((both * weights).to(loss.dtype), device)).sum()


def _pair_rows(languages: Sequence[Anchored]) -> tuple[list[Tensor], Tensor]:
    """Rows (N,) of each language's sentences, by image and number; which (N, L, L) of them make a pair.

    Where a language lacks an image, the row is arbitrary. Two languages form as many pairs for an image as
    the one with more sentences has, regardless of any third language.
    """
    each = max(part.each for part in languages)
    images = torch.cat([part.slots for part in languages]).unique().repeat_interleave(each)  # (N,)
    number = torch.arange(each).repeat(len(images) // each)
    rows, there = [], []
    for part in languages:
        first = torch.searchsorted(part.slots, images).clamp(max=len(part.slots) - 1)
        there.append(part.slots[first] == images)
        rows.append(torch.where(there[-1], first + number % part.each, 0))
    has = torch.stack(there, 1)
    counts = torch.tensor([part.each for part in languages])
    within = number[:, None, None] < torch.maximum(counts[:, None], counts)
    return rows, has[:, :, None] & has[:, None] & within & ~torch.eye(len(languages), dtype=torch.bool)


def _dense(languages: Sequence[Anchored], rows: Sequence[Tensor], device: torch.device) -> Tensor:
    """Vectors (N, L, d) of sentences that belong together."""
    parts = zip(languages, rows, strict=True)
    return torch.stack([part.vectors.index_select(0, to_device(of, device)) for part, of in parts], 1)


def _distances(itself: Tensor, partner: Tensor, target: Tensor) -> Tensor:
    """|l2(P_i + Q_j) - S_i|, (N, L, L), of P = itself, Q = partner, S = target (N, L, d) at length 1."""
    toward = (itself * target).sum(-1)[:, :, None] + target @ partner.mT
    square = itself.square().sum(-1)[:, :, None] + partner.square().sum(-1)[:, None]
    length = (square + 2 * itself @ partner.mT).clamp(min=1e-12).sqrt()
    # |a - b|^2 = 2 - 2 a b of unit vectors; nearer than this is as near as float32 can say.
    return (2 - 2 * toward / length).clamp(min=1e-6).sqrt()


def _earlier(languages: int, device: torch.device) -> Tensor:
    return torch.ones(languages, languages, dtype=torch.bool, device=device).triu(1)
