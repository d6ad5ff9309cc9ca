"""Settings of evaluations: what they depend on besides the model, and what they record."""

from typing import Literal

from pydantic import Field

from pipeline.common.block import Block, Count
from pipeline.models.settings import Consistency, Embedding, Encoder, Reduction
from pipeline.training.settings import AssignSettings, PretrainSettings
from pipeline.words.settings import SelectionRecord


class Preparation(Block):
    """What came before the training of a model, which an evaluation records besides its settings."""

    selection: SelectionRecord | None = None
    pretraining: PretrainSettings | None = None
    assignment: AssignSettings | None = None


class ModelKind(Block):
    """The key of `model` that determines the class of a model."""

    encoder: Encoder = "embn"


class EvaluateSettings(Block):
    """What an evaluation depends on besides its model, and which code the model is made of."""

    threads: Count = 1
    """CPU threads of PyTorch"""
    model: ModelKind = Field(default_factory=ModelKind)
    embedding: Embedding = "universal"
    reduction: Reduction | None = None
    preparation: Preparation | None = None


class ConsistencySettings(EvaluateSettings):
    """Settings of an evaluation with queries and their translations; only `learned` has a network."""

    kind: Literal["average", "learned"]
    network: Consistency | None = None
