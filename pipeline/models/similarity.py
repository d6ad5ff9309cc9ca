"""Similarity of captions and images: cosine, or that of order embeddings (Vendrov et al. 2016)."""

import torch
from torch import Tensor

NUMBERS = 2**24  # differences held at a time


def similarities(captions: Tensor, images: Tensor, kind: str) -> Tensor:
    """Similarities (B, n) of captions (B, e) and images (n, e), all of length 1.

    `cosine`, or `order`: -|max(0, caption - image)|^2 of vectors without negative numbers. It is 0 if the
    caption, which says less than the image, is above it in the order: none of its numbers is larger (Vendrov
    et al. 2016, Equations 2 and 3). It compares number by number, in pieces of bounded memory.
    """
    if kind == "cosine":
        return captions @ images.T
    pieces = captions.split(max(1, NUMBERS // max(1, images.numel())))
    return torch.cat([-(piece[:, None] - images).clamp(min=0).square().sum(-1) for piece in pieces])
