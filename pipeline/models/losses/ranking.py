"""Ranking losses of VSE, order embeddings and PARALLEL-SYM / -ASYM: hinges over all negatives or the hardest.

VSE: Kiros et al. 2014. Order embeddings: Vendrov et al. 2016. PARALLEL: Gella et al. 2017. Only the hardest
negative: VSE++ (Faghri et al. 2018), as in *Lessons*, Section 3.

Sizes in comments: B captions, n images or captions of another language, e embedding size.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Loss, Slotted, Step, Terms
from pipeline.models.settings import Ranking
from pipeline.models.similarity import similarities


class RankingLoss(Loss[Ranking]):
    """The losses that replace MULE's matching; the settings are `ranking`.

    margin: m. hinge: `sum` over all negatives, or `max`, the hardest of them. caption_caption: weight of the
    loss between the captions of two languages.
    """

    def terms(self, step: Step) -> Terms:
        """Captions against images in each language, and captions of each pair of languages."""
        return ranking_terms(*step.images_and_captions(), self.block, step.model.similarity)


def ranking_terms(images: Slotted, languages: Sequence[Slotted], ranking: Ranking, similarity: str) -> Terms:
    """Losses by name: captions against images in each language, and captions of each pair of languages.

    Args:
        images: of the batch. languages: each language's captions.
        similarity: `cosine` or `order`.
    """
    weights = {"caption_image": 1.0, "caption_caption": ranking.caption_caption}
    terms = {}
    for name, pairs in compared(images, languages, similarity).items():
        if weights[name]:
            losses = [ranking_loss(*pair, ranking.margin, ranking.hinge) for pair in pairs]
            terms[name] = weights[name] * torch.stack(losses).sum()
    return terms


def compared(
    images: Slotted, languages: Sequence[Slotted], similarity: str
) -> dict[str, Iterator[tuple[Tensor, Tensor]]]:
    """Similarities (B, n), and which of them match, of each language's captions with images, and of captions
    of each pair of languages, by the name of their term.
    """
    pairs = {
        "caption_image": [(captions, images) for captions in languages],
        # Order embeddings need a caption and an image: the first language's captions count as captions.
        "caption_caption": list(combinations(languages, 2)),
    }
    return {
        name: (
            (similarities(one.vectors, other.vectors, similarity), one.slots[:, None] == other.slots)
            for one, other in of_term
        )
        for name, of_term in pairs.items()
        if of_term
    }


def ranking_loss(similarity: Tensor, matches: Tensor, margin: float, hinge: str) -> Tensor:
    """Sum of the hinges of all matching pairs, in both directions (*Lessons*, Section 3).

    A pair's negatives are all images that do not match its caption, and all captions that do not match its
    image.

    Args:
        similarity: (B, n). matches: (B, n), true where caption and image belong together.
    """
    device, width = similarity.device, similarity.shape[1]
    pairs = matches.flatten().nonzero()[:, 0]
    thresholds = (
        similarity.flatten().index_select(0, to_device(pairs, device))[:, None] - margin
    )  # (pairs, 1)
    negatives = similarity.masked_fill(to_device(matches, device), -torch.inf)
    of_captions = negatives.index_select(0, to_device(pairs // width, device))  # (pairs, n)
    of_images = negatives.index_select(1, to_device(pairs % width, device)).T  # (pairs, B)
    hinges = [(similarities_of - thresholds).relu() for similarities_of in (of_captions, of_images)]
    return torch.stack([(h.amax(1) if hinge == "max" else h).sum() for h in hinges]).sum()
