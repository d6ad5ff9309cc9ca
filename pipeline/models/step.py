"""What a loss can access in a training step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pipeline.models.losses.matching import matching_loss
from pipeline.models.losses.triplets import Anchored, Triplets
from pipeline.models.retrieval_model import Embedded, RetrievalModel
from pipeline.words.corpus import Sentences

Terms = dict[str, Tensor]


@dataclass
class Step:
    """A batch and its embeddings.

    sentences: the drawn ones of each language, whose rows are those of the embeddings. images: their
    embeddings; one without captions in a language is still a negative for that language's sentences.
    embed: further sentences to their embeddings, in the precision of the training.
    universal, multimodal: u and s of each language. settings: the experiment's.
    """

    model: RetrievalModel
    sentences: Mapping[str, Sentences]
    images: Anchored
    embed: Callable[[Mapping[str, Sentences]], dict[str, Embedded]]
    universal: Mapping[str, Anchored]
    multimodal: Mapping[str, Anchored]
    settings: Mapping[str, Any]

    @property
    def triplets(self) -> Triplets:
        """How distances become a loss."""
        return Triplets(**self.settings["triplets"])

    def matching(self, sentences: Mapping[str, Anchored]) -> Tensor:
        """Image-sentence matching of some embeddings, mean over languages (MULE, Equation 3)."""
        weights = self.settings["matching"]
        losses = [matching_loss(self.images, part, self.triplets, weights) for part in sentences.values()]
        return torch.stack(losses).mean()
