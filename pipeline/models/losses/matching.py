"""Image-sentence matching (MULE, Equation 3)."""

import functools
from dataclasses import replace
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.triplets import PLANS, Comparison, Segment, compare, hinge_loss
from pipeline.models.settings import Matching, Triplets


class MatchingLoss(Loss[Matching]):
    """Image-sentence matching, mean over languages."""

    def terms(self, step: Step) -> Terms:
        return {"matching": self.matching(step, step.multimodal)}

    def matching(self, step: Step, sentences: Tensor) -> Tensor:
        """The loss of some embeddings (N, e) of the step's sentences."""
        triplets = self.settings.triplets
        assert triplets
        return matching_loss(step.images, sentences, step.segments, triplets, self.block)


def matching_loss(
    images: Tensor, sentences: Tensor, segments: tuple[Segment, ...], triplets: Triplets, weights: Matching
) -> Tensor:
    """Image-sentence matching, mean over languages (MULE, Equation 3; Wang et al. 2019).

    1.5 x image term + 1 x sentence term + 0.05 x sentence-only term under the default weights. An image
    without sentences in a language is still a negative for that language's sentences.

    Args:
        images: (n, e). sentences: (N, e) of all languages. segments: the rows of each language.
    """
    return hinge_loss(torch.cat([images, sentences]), _comparisons(segments, len(images), weights), triplets)


@functools.lru_cache(PLANS)
def _comparisons(segments: tuple[Segment, ...], images: int, weights: Matching) -> tuple[Comparison, ...]:
    image_segment = Segment(np.arange(images), np.arange(images), 1)
    languages = [replace(language, rows=images + language.rows) for language in segments]
    terms = [compare(language, image_segment, weights.image / len(segments)) for language in languages]
    terms += [
        compare(image_segment, language, weights.sentence / len(segments), every_positive=True)
        for language in languages
    ]
    if weights.sentence_only:
        terms += [
            compare(language, language, weights.sentence_only / len(segments)) for language in languages
        ]
    return tuple(chain(*terms))
