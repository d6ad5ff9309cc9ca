"""Similarity of captions and images, as in training."""

import torch
from torch import Tensor

from pipeline.models.similarity import similarities

NUMBERS = 2**22  # differences held at a time


def similarity(captions: Tensor, images: Tensor, kind: str) -> Tensor:
    """Similarities (B, n) of captions (B, e) and images (n, e); larger is nearer.

    `order` compares number by number, so it goes through the captions in pieces of bounded memory.

    Args:
        kind: `cosine` or `order`, the model's.
    """
    rows = len(captions) if kind == "cosine" else NUMBERS // max(1, images.numel())
    return torch.cat([similarities(chunk, images, kind) for chunk in captions.split(max(1, rows))])
