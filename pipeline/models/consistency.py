"""Cross-lingual consistency with learned weights, CLC-C (SMALR, Section 3.4).

A query and its translations each score a candidate; a small network combines the scores into one. Without an
activation between its two layers, it is a weighted sum.

Sizes in comments: B sentences, n images, L languages, k hardest negatives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.common.errors import InputError
from pipeline.common.progress import with_progress
from pipeline.models.settings import Consistency, Matching, Triplets


class Combiner(nn.Module):
    """Combines L scores into one: two linear layers without biases.

    Args:
        languages: L. hidden: hidden units, 32 in the paper, which gives 352 weights for ten languages.
        initial: combined score where all scores are 1; all weights start equal, and 1 gives the mean
            (CLC-A).
    """

    def __init__(self, languages: int, hidden: int, initial: float):
        super().__init__()
        self.first = nn.Linear(languages, hidden, bias=False)
        self.second = nn.Linear(hidden, 1, bias=False)
        for weight in self.parameters():
            nn.init.constant_(weight, math.sqrt(initial / (languages * hidden)))

    def weights(self) -> Tensor:
        """The weight (L,) of each language's score."""
        weights: Tensor = (self.second.weight @ self.first.weight)[0]
        return weights

    def forward(self, scores: Tensor) -> Tensor:
        """Scores (..., L) to scores (...)."""
        return scores @ self.weights()


@dataclass
class ScoredQueries:
    """A language's queries of the validation split, each with its translations.

    scores: (B, n, L) of sentence and image. image_of: (B,) row of each sentence's image.
    """

    scores: Tensor
    image_of: Tensor


def fit(
    combiner: Combiner,
    queries: Sequence[ScoredQueries],
    settings: Consistency,
    triplets: Triplets,
    weights: Matching,
) -> list[float]:
    """Train on all pairs at once (Equation 3, mean over languages); return the loss before each iteration.

    Raises:
        InputError: a language has a single image, without which there is no triplet.
    """
    if min(language.scores.shape[1] for language in queries) < 2:
        raise InputError(
            "The network learns from the validation split, of which a language has a single image; a triplet "
            "needs two."
        )
    optimizer = torch.optim.Adam(combiner.parameters(), settings.learning_rate)
    losses = []
    for _ in with_progress(range(settings.iterations), "iterations", settings.iterations):
        loss = torch.stack(
            [triplet_loss(combiner, language, triplets, weights) for language in queries]
        ).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def triplet_loss(combiner: Combiner, queries: ScoredQueries, triplets: Triplets, weights: Matching) -> Tensor:
    """Equation 3 on combined scores s, whose distance is 1 - s: mean of the k largest [m + s- - s+]+.

    s- is a score of a sentence with another image, or of an image with another image's sentence; the latter
    count once for each sentence of the image.
    """
    images, image_of = queries.scores.shape[1], queries.image_of
    scores, own = combiner(queries.scores), image_of[:, None] == torch.arange(images)  # both (B, n)
    others, positive = scores.masked_fill(own, -torch.inf), scores[own][:, None]
    hardest, most_sentences = triplets.num_hard_negatives, int(image_of.bincount().max())
    to_images = others.topk(min(hardest, images - 1), 1).values  # (B, k)
    to_sentences = others.T.topk(min(hardest, len(image_of) - most_sentences), 1).values[image_of]  # (B, k)
    image_term, sentence_term = (
        (triplets.margin + negative - positive).clamp(min=0).mean() for negative in (to_images, to_sentences)
    )
    loss: Tensor = weights.image * image_term + weights.sentence * sentence_term
    return loss
