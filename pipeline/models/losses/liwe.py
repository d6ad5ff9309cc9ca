"""The loss of LIWE (Wehrmann et al. 2019): hinges whose weight moves to the largest one.

k = 1 - b^step shifts the weight from all hinges to the largest one: b is 0.991 between captions and images,
0.91 between the captions of two languages.
"""

import torch
from torch import Tensor

from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.ranking import compared, ranking_loss
from pipeline.models.settings import Liwe


class LiweLoss(Loss[Liwe]):
    """Captions against images, and captions of two languages.

    Each is the mean over languages, or pairs of languages, of a batch's annealed hinges. The settings
    `liwe`: margin, image_base, caption_base.
    """

    def terms(self, step: Step) -> Terms:
        liwe, terms = self.block, {}
        bases = {"caption_image": liwe.image_base, "caption_caption": liwe.caption_base}
        for name, pairs in compared(*step.images_and_captions(), "cosine").items():
            losses = [annealed_loss(*pair, liwe.margin, bases[name], step.number) for pair in pairs]
            terms[name] = torch.stack(losses).mean()
        return terms


def annealed_loss(similarity: Tensor, matches: Tensor, margin: float, base: float, step: int) -> Tensor:
    """(1 - k) times the sum of all hinges plus k times the sum of each pair's largest, k = 1 - base^step.

    Args:
        similarity: (B, n). matches: (B, n), true where caption and image belong together.
    """
    share = 1 - base**step
    sum_of_all, sum_of_largest = (
        ranking_loss(similarity, matches, margin, hinge) for hinge in ("sum", "max")
    )
    return (1 - share) * sum_of_all + share * sum_of_largest
