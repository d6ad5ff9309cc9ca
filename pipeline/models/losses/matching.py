"""Image-sentence matching (MULE, Equation 3)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.losses.triplets import Anchored, alignment_loss, hinge, positive_columns
from pipeline.models.settings import Matching, Triplets


class MatchingLoss(Loss[Matching]):
    """Image-sentence matching, mean over languages."""

    def terms(self, step: Step) -> Terms:
        return {"matching": self.matching(step.images, step.multimodal)}

    def matching(self, images: Anchored, sentences: Mapping[str, Anchored]) -> Tensor:
        """The loss of some embeddings of each language's sentences, mean over languages."""
        triplets = self.settings.triplets
        assert triplets
        losses = [matching_loss(images, part, triplets, self.block) for part in sentences.values()]
        return torch.stack(losses).mean()


def matching_loss(images: Anchored, sentences: Anchored, triplets: Triplets, weights: Matching) -> Tensor:
    """Image-sentence matching of one language (MULE, Equation 3; Wang et al. 2019).

    1.5 x image term + 1 x sentence term + 0.05 x sentence-only term under the default weights.
    """
    cosines = sentences.vectors @ images.vectors.T  # (sentences, n)
    image_term = hinge(cosines, positive_columns(sentences, images), triplets)
    # Each image's nearest sentences are found once, whichever of its sentences is the positive.
    with_sentences = sentences.slots[:: sentences.each].contiguous()
    rows = to_device(with_sentences, cosines.device)
    of_image = cosines.T[rows]  # (images with sentences, sentences)
    own = positive_columns(Anchored(images.vectors, with_sentences, 1), sentences)
    sentence_term = hinge(of_image, own, triplets, every_positive=True)
    sentence_only = alignment_loss(sentences, sentences, triplets)
    return (
        weights.image * image_term + weights.sentence * sentence_term + weights.sentence_only * sentence_only
    )
