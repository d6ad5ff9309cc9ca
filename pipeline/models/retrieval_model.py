"""What every model of image-sentence retrieval is, whatever it reads sentences from."""

from collections.abc import Mapping

from torch import Tensor, nn

from pipeline.models.protocols import Encoder


class RetrievalModel(nn.Module, Encoder):
    """Image-sentence retrieval in one or more languages.

    branches: of sentences, by language, or one that is `shared`. losses: layers of losses that have any, for
    training only.
    """

    branches: nn.ModuleDict
    image_branch: nn.Module
    losses: nn.ModuleDict


def count_parameters(module: nn.Module) -> int:
    """Number of trainable numbers in a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def image_features(state: Mapping[str, Tensor]) -> int:
    """Numbers of an image's features that a saved model reads; 0 if its image branch is not in the state."""
    weight = state.get("image_branch.layers.0.weight")
    return 0 if weight is None else weight.shape[1]
