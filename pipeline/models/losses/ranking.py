"""Ranking losses of VSE, order embeddings and PARALLEL-SYM / -ASYM: hinges over all negatives or the hardest.

VSE: Kiros et al. 2014. Order embeddings: Vendrov et al. 2016. PARALLEL: Gella et al. 2017. Only the hardest
negative: VSE++ (Faghri et al. 2018), as in *Lessons*, Section 3.

Sizes in comments: B captions, n images or captions of another language, e embedding size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.triplets import Anchored
from pipeline.models.similarity import similarities
from pipeline.models.step import Step, Terms


@dataclass(frozen=True)
class Ranking:
    """How similarities are turned into a loss.

    margin: m. hinge: `sum` over all negatives, or `max`, the hardest of them. caption_caption: weight of the
    loss between the captions of two languages. similarity: `cosine` or `order`.
    """

    margin: float
    hinge: str
    caption_caption: float
    similarity: str


def terms(step: Step) -> Terms:
    """The losses of a training step, replacing MULE's matching; configured by `ranking` in the settings."""
    ranking = Ranking(**step.settings["ranking"], similarity=step.model.similarity)
    return ranking_terms(step.images, list(step.multimodal.values()), ranking)


def ranking_terms(images: Anchored, languages: Sequence[Anchored], ranking: Ranking) -> dict[str, Tensor]:
    """Losses by name: captions against images in each language, and captions of each pair of languages.

    Args:
        images: embeddings of the batch's images. languages: those of each language's captions.
    """
    pairs = [(captions, images) for captions in languages]
    found = {"caption_image": _summed(pairs, ranking)}
    if ranking.caption_caption and len(languages) > 1:
        # Of two captions none is an image: the first language's takes the caption's place in the order.
        between = _summed(list(combinations(languages, 2)), ranking)
        found["caption_caption"] = ranking.caption_caption * between
    return found


def ranking_loss(similarity: Tensor, own: Tensor, ranking: Ranking) -> Tensor:
    """Sum of the hinges of all matching pairs, in both directions (*Lessons*, Section 3).

    A pair's negatives are all that its caption does not belong to, and all captions that do not belong to
    its image.

    Args:
        similarity: (B, n). own: (B, n), what belongs together.
    """
    rows, columns = (to_device(places, similarity.device) for places in own.nonzero(as_tuple=True))
    needed = (similarity[rows, columns] - ranking.margin)[:, None]  # (pairs, 1)
    others = similarity.masked_fill(to_device(own, similarity.device), -torch.inf)
    hinges = [(of - needed).clamp(min=0) for of in (others[rows], others.T[columns])]
    return torch.stack([(h.amax(1) if ranking.hinge == "max" else h).sum() for h in hinges]).sum()


def _summed(pairs: Sequence[tuple[Anchored, Anchored]], ranking: Ranking) -> Tensor:
    losses = [
        ranking_loss(
            similarities(first.vectors, second.vectors, ranking.similarity),
            first.slots[:, None] == second.slots,
            ranking,
        )
        for first, second in pairs
    ]
    return torch.stack(losses).sum()
