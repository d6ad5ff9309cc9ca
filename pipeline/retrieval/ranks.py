"""Ranks of right answers, in both directions, in chunks.

Nearer means a larger similarity. Ties must not flatter: rank = 1 + number of strictly nearer candidates +
number of equally near ones that stand earlier.
"""

from collections.abc import Callable

import torch
from torch import Tensor

CHUNK = 1024  # queries whose similarities are held at a time

Similarity = Callable[[Tensor, Tensor], Tensor]  # (sentences, e) and (images, e) to (sentences, images)


def dot_products(sentences: Tensor, images: Tensor) -> Tensor:
    """(sentences, images); of unit vectors the order of the cosine and of the Euclidean distance."""
    return sentences @ images.T


def sentence_to_image_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, similarity: Similarity = dot_products
) -> Tensor:
    """Rank of each sentence's image among all images.

    Args:
        images: (n, e). sentences: (B, e). image_of: (B,) row of each sentence's image.
        similarity: of sentences to images.

    Returns:
        (B,) ranks from 1.
    """
    ranks = []
    for rows, answers in zip(sentences.split(CHUNK), image_of.split(CHUNK), strict=True):
        found = similarity(rows, images)  # (chunk, n)
        ranks.append(_rank(found, answers))
    return torch.cat(ranks)


def image_to_sentence_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, similarity: Similarity = dot_products
) -> Tensor:
    """Best rank of any of an image's sentences among all sentences, for every image that has sentences.

    Args:
        images: (n, e). sentences: (B, e). image_of: (B,) row of each sentence's image.
        similarity: of sentences to images.

    Returns:
        (images with sentences,) ranks from 1, in order of the images' rows.
    """
    ranks = []
    for rows in torch.unique(image_of).split(CHUNK):
        found = similarity(sentences, images[rows]).T  # (chunk, B)
        own = rows[:, None] == image_of
        best = found.masked_fill(~own, -torch.inf).amax(1, keepdim=True)
        answers = (own & (found == best)).int().argmax(1)  # the first of equally near ones
        ranks.append(_rank(found, answers))
    return torch.cat(ranks)


def _rank(similarity: Tensor, answers: Tensor) -> Tensor:
    right = similarity.gather(1, answers[:, None])  # (chunk, 1)
    earlier = torch.arange(similarity.shape[1], device=similarity.device) < answers[:, None]
    return 1 + ((similarity > right) | (earlier & (similarity == right))).sum(1)
