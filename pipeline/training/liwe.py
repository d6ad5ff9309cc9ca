"""Training of LIWE (Wehrmann et al. 2019): its loss, learning rate, and validation every few steps.

k = 1 - b^step shifts the weight from all hinges to the largest one: b is 0.991 between captions and images,
0.91 between the captions of two languages.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.liwe import LiweModel
from pipeline.models.losses.ranking import Ranking, ranking_loss
from pipeline.models.losses.triplets import Anchored
from pipeline.training.batches import Batch, Sampler
from pipeline.training.loop import Course
from pipeline.words.corpus import Corpus


class PacedSampler:
    """The batches of a sampler in segments of a fixed number of steps, each followed by validation.

    Args:
        sampler: its epochs follow one another. every: steps per segment.
    """

    def __init__(self, sampler: Sampler, every: int):
        self.sampler, self.steps, self.seed = sampler, every, sampler.seed

    def stretches(self, epochs: int) -> int:
        """Number of segments for a number of epochs of the sampler, rounded up."""
        return -(-epochs * self.sampler.steps // self.steps)

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Batch]:
        """The batches of a segment, from `first_step` on."""
        step, end = epoch * self.steps + first_step, (epoch + 1) * self.steps
        while step < end:
            of_sampler, skipped = divmod(step, self.sampler.steps)
            for drawn in self.sampler.epoch(of_sampler, skipped):
                if step == end:
                    return
                yield drawn
                step += 1


def course(
    model: LiweModel,
    corpus: Corpus,
    optimizer: torch.optim.Optimizer,
    sampler: Sampler,
    settings: Mapping[str, Any],
) -> Course:
    """The steps of all epochs in segments that end with validation; each step sets its learning rate."""
    own, paced = settings["liwe"], PacedSampler(sampler, settings["liwe"]["validate_every"])
    stretches = paced.stretches(settings["training"]["epochs"])

    def terms(drawn: Batch, done: float) -> dict[str, Tensor]:
        step = round(done * stretches * paced.steps)
        set_rate(optimizer, own, settings["training"]["learning_rate"], step)
        return liwe_terms(model, corpus, drawn, own, step)

    return Course(paced, stretches, terms)


def liwe_terms(
    model: LiweModel, corpus: Corpus, drawn: Batch, settings: Mapping[str, Any], step: int
) -> dict[str, Tensor]:
    """The terms whose sum is minimised, by name: captions against images, and captions of two languages.

    Each is the mean, over languages or pairs of languages, of what a batch's hinges come to.

    Args:
        settings: `liwe`: margin, image_base, caption_base. step: of the whole training, from 0.
    """
    device = corpus.features.device
    sentences = {language: corpus.languages[language].take(rows) for language, rows in drawn.rows.items()}
    images = model.embed_images(corpus.features[to_device(torch.from_numpy(drawn.images), device)])
    shown = Anchored(images, torch.arange(len(images)), 1)
    languages = [
        Anchored(part.multimodal, torch.from_numpy(drawn.slots[language]), drawn.each[language])
        for language, part in model.embed_sentences(sentences).items()
    ]
    margin = settings["margin"]
    of_images = [_annealed(one, shown, margin, settings["image_base"], step) for one in languages]
    terms = {"caption_image": torch.stack(of_images).mean()}
    if len(languages) > 1:
        of_pairs = [
            _annealed(first, second, margin, settings["caption_base"], step)
            for first, second in combinations(languages, 2)
        ]
        terms["caption_caption"] = torch.stack(of_pairs).mean()
    return terms


def _annealed(captions: Anchored, others: Anchored, margin: float, base: float, step: int) -> Tensor:
    similarity, own = captions.vectors @ others.vectors.T, captions.slots[:, None] == others.slots
    return annealed_loss(similarity, own, margin, base, step)


def annealed_loss(similarity: Tensor, own: Tensor, margin: float, base: float, step: int) -> Tensor:
    """(1 - k) times the sum of all hinges plus k times the sum of each pair's largest, k = 1 - base^step.

    Args:
        similarity: (B, n). own: (B, n), what belongs together.
    """
    share = 1 - base**step
    every, worst = (
        ranking_loss(similarity, own, Ranking(margin, hinge, 0.0, "cosine")) for hinge in ("sum", "max")
    )
    return (1 - share) * every + share * worst


def set_rate(optimizer: torch.optim.Optimizer, settings: Mapping[str, Any], rate: float, step: int) -> None:
    """Set the learning rate of a step: the initial one, times `drop` after `drop_after` steps."""
    for group in optimizer.param_groups:
        group["lr"] = rate * (
            settings["learning_rate_decay"] if step >= settings["learning_rate_decay_after"] else 1.0
        )
