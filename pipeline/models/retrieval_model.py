"""The base class of all models of image-sentence retrieval."""

from collections.abc import Mapping

from torch import Tensor, nn

from pipeline.models.protocols import Encoder


class RetrievalModel(nn.Module, Encoder):
    """Image-sentence retrieval in one or more languages.

    branches: sentence branches by language, or a single branch `shared`. losses: layers of losses, only for
    training.
    """

    branches: nn.ModuleDict
    image_branch: nn.Module
    losses: nn.ModuleDict


def count_parameters(module: nn.Module) -> int:
    """Number of trainable parameters in a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def image_features(state: Mapping[str, Tensor]) -> int:
    """Numbers of an image's features that a saved model reads; 0 if its image branch is not in the state."""
    weight = state.get("image_branch.layers.0.weight")
    return 0 if weight is None else weight.shape[1]
