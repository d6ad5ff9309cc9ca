"""The model of an experiment: one way to build it, for training, loading and counting."""

from pipeline import registry
from pipeline.models.protocols import Sizes
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.settings import ModelSettings


def build(settings: ModelSettings, sizes: Sizes) -> RetrievalModel:
    """A model whose weights are random, and whose values are to be copied into it."""
    return encoder(settings)(settings, sizes)


def encoder(settings: ModelSettings) -> type[RetrievalModel]:
    """The class of an experiment's model."""
    kind: type[RetrievalModel] = registry.load(registry.encoder(settings))
    return kind
