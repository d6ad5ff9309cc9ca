"""Image-sentence matching (MULE, Equation 3)."""

from collections.abc import Mapping

from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.triplets import Anchored, Triplets, alignment_loss, hinge, positive_columns


def matching_loss(
    images: Anchored, sentences: Anchored, triplets: Triplets, weights: Mapping[str, float]
) -> Tensor:
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
        weights["image"] * image_term
        + weights["sentence"] * sentence_term
        + weights["sentence_only"] * sentence_only
    )
