"""Ranking losses of VSE, order embeddings and PARALLEL-SYM / -ASYM: hinges over all negatives or the hardest.

VSE: Kiros et al. 2014. Order embeddings: Vendrov et al. 2016. PARALLEL: Gella et al. 2017. Only the hardest
negative: VSE++ (Faghri et al. 2018), as in *Lessons*, Section 3.

Sizes in comments: B captions, n images or captions of another language, e embedding size.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.triplets import Anchored
from pipeline.models.settings import Ranking
from pipeline.models.similarity import similarities


class RankingLoss(Loss[Ranking]):
    """The losses that replace MULE's matching; the settings are `ranking`.

    margin: m. hinge: `sum` over all negatives, or `max`, the hardest of them. caption_caption: weight of the
    loss between the captions of two languages.
    """

    def terms(self, step: Step) -> Terms:
        """Captions against images in each language, and captions of each pair of languages."""
        languages = list(step.multimodal.values())
        return ranking_terms(step.images, languages, self.block, step.model.similarity)


def ranking_terms(
    images: Anchored, languages: Sequence[Anchored], ranking: Ranking, similarity: str
) -> Terms:
    """Losses by name: captions against images in each language, and captions of each pair of languages.

    Args:
        images: embeddings of the batch's images. languages: those of each language's captions.
        similarity: `cosine` or `order`.
    """

    def summed(pairs: Iterable[tuple[Anchored, Anchored]]) -> Tensor:
        losses = [
            ranking_loss(
                similarities(first.vectors, second.vectors, similarity),
                first.slots[:, None] == second.slots,
                ranking.margin,
                ranking.hinge,
            )
            for first, second in pairs
        ]
        return torch.stack(losses).sum()

    terms = {"caption_image": summed((captions, images) for captions in languages)}
    if ranking.caption_caption and len(languages) > 1:
        # Of two captions none is an image: the first language's takes the caption's place in the order.
        terms["caption_caption"] = ranking.caption_caption * summed(combinations(languages, 2))
    return terms


def ranking_loss(similarity: Tensor, own: Tensor, margin: float, hinge: str) -> Tensor:
    """Sum of the hinges of all matching pairs, in both directions (*Lessons*, Section 3).

    A pair's negatives are all that its caption does not belong to, and all captions that do not belong to
    its image.

    Args:
        similarity: (B, n). own: (B, n), what belongs together.
    """
    rows, columns = (to_device(places, similarity.device) for places in own.nonzero(as_tuple=True))
    needed = (similarity[rows, columns] - margin)[:, None]  # (pairs, 1)
    others = similarity.masked_fill(to_device(own, similarity.device), -torch.inf)
    hinges = [(of - needed).clamp(min=0) for of in (others[rows], others.T[columns])]
    return torch.stack([(h.amax(1) if hinge == "max" else h).sum() for h in hinges]).sum()
