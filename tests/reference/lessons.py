"""How *Lessons* trains (Kádár et al. 2018, Section 3, Figure 2; docs/lessons.md).

Each step's rows are arguments: captions of one language, or pairs of captions (c2c).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reference.batches import Caption
from reference.captions import Split
from reference.evaluation import model_ranks, recalls, rounded_ranks
from reference.layers import Weights
from reference.losses import ranking_loss
from reference.model import Settings, embed_images, embed_sentences
from reference.training import Adam, Training, clip, gradients_of, trainable


def embed_captions(
    weights: Weights, settings: Settings, captions: Sequence[Caption], lengths: Sequence[int] | None = None
) -> Tensor:
    """Unit vectors (B, e). The words of all languages are in one table, which one GRU reads.

    lengths: how many words of each caption are read, if not all; beyond these words a caption is padding.
    """
    code = settings["languages"][0]
    ids = [of_caption for _, of_caption in captions]
    if lengths is not None:
        ids = [(words + [0] * length)[:length] for words, length in zip(ids, lengths, strict=True)]
    return embed_sentences(weights, settings, {code: ids}, training=True)[code][1]


def reversed_lengths(captions: Sequence[Caption]) -> list[int]:
    """The public code's c2c batches: captions by ascending length, lengths by descending."""
    ascending = sorted(range(len(captions)), key=lambda place: len(captions[place][1]))
    lengths = sorted((len(ids) for _, ids in captions), reverse=True)
    return [lengths[ascending.index(place)] for place in range(len(captions))]


def step_loss(
    weights: Weights, captions: Sequence[Caption], features: Tensor, rows: np.ndarray, settings: Settings
) -> Tensor:
    """Ranking loss of a batch, in which only captions and images at the same place match."""
    sides = [
        [captions[row] for row in side] for side in (rows.T.tolist() if rows.ndim == 2 else [rows.tolist()])
    ]
    if len(sides) == 2:
        wrong = settings["lessons"]["lengths_in_pairs"] == "reversed"
        first, second = (
            embed_captions(weights, settings, side, reversed_lengths(side) if wrong else None)
            for side in sides
        )
    else:
        first = embed_captions(weights, settings, sides[0])
        second = embed_images(weights, settings, features[[image for image, _ in sides[0]]])
    return ranking_loss(first @ second.T, torch.eye(len(rows), dtype=torch.bool), settings["lessons"])


def train(
    weights: Weights,
    split: Split,
    captions: Sequence[Caption],
    validation: Split,
    epochs: Sequence[Sequence[np.ndarray]],
    settings: Settings,
) -> Training:
    """Adam until the sum of recalls on validation has not risen for `patience` validations.

    The public code's learning rate in models of one language: the initial one times 0.1 ** (epoch // 15),
    with epochs counted from 0; 15 is `divide_learning_rate_every`.

    captions: of all languages, one after another, and after them the captions that only pairs have.
    """
    tasks, weights, adam = settings["lessons"], dict(weights), Adam()
    names, waited, result = trainable(weights), 0, Training()
    first, *others = settings["languages"]
    names = [name for name in names if name not in {f"universal.{code}.table.weight" for code in others}]
    every = tasks["divide_learning_rate_every"]
    for epoch, batches in enumerate(epochs):
        assert waited < tasks["patience"]
        rate = tasks["learning_rate"] * 0.1 ** (epoch // every if every else 0)
        for rows in batches:
            loss = step_loss(weights, captions, split.features, rows, settings)
            result.add_step({"ranking": loss})
            gradients = gradients_of(loss, weights, names, padding_learns=False)
            adam.step(weights, clip(gradients, tasks["max_grad_norm"]), rate)
            for code in others:  # one table for all
                weights[f"universal.{code}.table.weight"] = weights[f"universal.{first}.table.weight"]
        of_captions = {
            code: recalls(model_ranks(weights, settings, validation, code))["mR"]
            for code in settings["languages"]
        }
        scores = {
            code: mean_recall_by_fives(weights, settings, validation, code)
            if code in tasks["validated_by_fives"]
            else of_captions[code]
            for code in of_captions
        }
        score = 6 * sum(scores[code] for code in settings["stop_on"])
        better = result.add_epoch(weights, of_captions, len(batches), score)
        waited = 0 if better else waited + 1
    assert waited == tasks["patience"] or len(epochs) == max(1, tasks["max_steps"] // len(epochs[0]))
    return result


@torch.no_grad()
def mean_recall_by_fives(weights: Weights, settings: Settings, split: Split, language: str) -> float:
    """mR if five captions in a row are assumed to belong to the first one's image."""
    whole = len(split.sentences[language]) // 5
    captions = split.sentences[language][: 5 * whole]
    sentences = embed_captions(weights, settings, captions)
    images = embed_images(weights, settings, split.features[[image for image, _ in captions[::5]]])
    return recalls(rounded_ranks(sentences @ images.T, torch.arange(whole).repeat_interleave(5)))["mR"]
