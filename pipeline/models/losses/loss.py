"""What a loss is, and what it can access in a training step."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from pipeline import registry
from pipeline.common.block import Block
from pipeline.models.losses.triplets import Segment
from pipeline.models.settings import ChosenLosses, ModelSettings
from pipeline.words.corpus import Sentences

if TYPE_CHECKING:  # an edit of the model reruns no pretraining
    from pipeline.models.model import RetrievalModel

Terms = dict[str, Tensor]


class Slotted(NamedTuple):
    """Embeddings (B, e), and the places (B,) of their images in the batch, on the CPU."""

    vectors: Tensor
    slots: Tensor


@dataclass
class Step:
    """A batch and its embeddings; N sentences of all languages, one language after another.

    sentences: the batch's sentences in each language. segments: each language's rows of the embeddings, and
    their images. images: (n, e). universal, multimodal: u (N, d) and s (N, e). number: of the step
    in the whole training, from 0. progress: fraction of the training before it.
    """

    model: "RetrievalModel"
    sentences: Mapping[str, Sentences]
    segments: tuple[Segment, ...]
    images: Tensor
    universal: Tensor
    multimodal: Tensor
    number: int
    progress: float

    def images_and_captions(self) -> tuple[Slotted, list[Slotted]]:
        """The batch's images, and each language's captions; equal slots mark a caption and its image."""
        slots = [torch.from_numpy(segment.slots) for segment in self.segments]
        captions = self.multimodal.split([len(places) for places in slots])
        images = Slotted(self.images, torch.arange(len(self.images)))
        return images, list(map(Slotted, captions, slots))


BlockT = TypeVar("BlockT", bound=Block)


class Loss(Protocol[BlockT]):
    """A loss: NAMELoss in losses/NAME.py, for experiments with a block of settings NAME.

    Args:
        block: the settings of the loss. settings: the settings of the model.
    """

    block: BlockT
    settings: ModelSettings

    def __init__(self, block: BlockT, settings: ModelSettings):
        self.block, self.settings = block, settings

    def layers(self) -> nn.Module | None:
        """Layers of the loss, with random weights; a training has them as `model.losses[NAME]`."""
        return None

    @abstractmethod
    def terms(self, step: Step) -> Terms:
        """Weighted terms by name, which are added to the loss and to the curves."""

    def after_epoch(self, model: "RetrievalModel") -> None:
        """Update reference values for the next epoch; called again if validation was interrupted."""
        return


def losses(settings: ModelSettings) -> dict[str, Loss[Block]]:
    """The losses of an experiment by name, in the order in which their terms are added up."""
    blocks = {name: getattr(settings, name) for name in ChosenLosses.model_fields}
    return {
        name: registry.load(registry.loss(name))(block, settings) for name, block in blocks.items() if block
    }


def add_layers(model: "RetrievalModel", settings: ModelSettings) -> None:
    """Give a model that is to be trained the layers of its losses, with random weights."""
    for name, loss in losses(settings).items():
        if layers := loss.layers():
            model.losses[name] = layers
