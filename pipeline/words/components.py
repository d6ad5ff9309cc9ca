"""Principal components of word vectors, which hybrid embeddings and smaller vocabularies read."""

import torch
from torch import Tensor

from pipeline.common.errors import InputError


def principal_components(vectors: Tensor, size: int) -> Tensor:
    """Project vectors (V, D) on their principal components, (V, size), after centring.

    A component's sign makes its largest weight positive, so that equal vectors give equal numbers.

    Raises:
        InputError: the vectors have fewer dimensions than `size`.
    """
    if vectors.shape[1] < size:
        raise InputError(
            f"word vectors of {vectors.shape[1]} numbers have no {size} principal components; ask for fewer"
        )
    centred = vectors.double() - vectors.double().mean(0)
    _, directions = torch.linalg.eigh(centred.T @ centred)  # columns, by rising variance
    components: Tensor = directions.flip(1)[:, :size]
    largest = components.gather(0, components.abs().argmax(0, keepdim=True))
    return (centred @ (components * largest.sign())).to(vectors.dtype)
