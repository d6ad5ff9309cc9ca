"""Ranks of right answers, in both directions, in chunks.

Nearer means a larger similarity (similarity.py): of float32 unit vectors the dot product, which is the order
of the cosine and of the Euclidean distance, or that of order embeddings. Ties must not flatter: rank = 1 +
number of strictly nearer candidates + number of equally near ones that stand earlier.
"""

import torch
from torch import Tensor

from pipeline.retrieval.similarity import similarity as compared

CHUNK = 1024  # queries whose similarities are held at a time


def sentence_to_image_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, kind: str = "cosine"
) -> Tensor:
    """Rank of each sentence's image among all images.

    Args:
        images: (n, e). sentences: (B, e). image_of: (B,) row of each sentence's image.
        kind: of similarity, `cosine` or `order`.

    Returns:
        (B,) ranks from 1.
    """
    ranks = []
    for rows, answers in zip(sentences.split(CHUNK), image_of.split(CHUNK), strict=True):
        similarity = compared(rows, images, kind)  # (chunk, n)
        ranks.append(_rank(similarity, answers))
    return torch.cat(ranks)


def image_to_sentence_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, kind: str = "cosine"
) -> Tensor:
    """Best rank of any of an image's sentences among all sentences, for every image that has sentences.

    Args:
        images: (n, e). sentences: (B, e). image_of: (B,) row of each sentence's image.
        kind: of similarity, `cosine` or `order`.

    Returns:
        (images with sentences,) ranks from 1, in order of the images' rows.
    """
    ranks = []
    for rows in torch.unique(image_of).split(CHUNK):
        similarity = compared(sentences, images[rows], kind).T  # (chunk, B)
        own = rows[:, None] == image_of
        best = similarity.masked_fill(~own, -torch.inf).amax(1, keepdim=True)
        answers = (own & (similarity == best)).int().argmax(1)  # the first of equally near ones
        ranks.append(_rank(similarity, answers))
    return torch.cat(ranks)


def _rank(similarity: Tensor, answers: Tensor) -> Tensor:
    right = similarity.gather(1, answers[:, None])  # (chunk, 1)
    earlier = torch.arange(similarity.shape[1], device=similarity.device) < answers[:, None]
    return 1 + ((similarity > right) | (earlier & (similarity == right))).sum(1)
