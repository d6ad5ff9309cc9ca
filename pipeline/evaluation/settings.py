"""Settings of evaluations: what they depend on besides the model, and what they record."""

from typing import Literal

from pipeline.common.block import Block
from pipeline.models.settings import Consistency
from pipeline.training.settings import AssignSettings, PretrainSettings
from pipeline.words.settings import SelectionRecord


class Preparation(Block):
    """What came before the training of a model, which an evaluation records besides its settings."""

    selection: SelectionRecord | None = None
    pretraining: PretrainSettings | None = None
    assignment: AssignSettings | None = None


class ConsistencySettings(Preparation):
    """Settings of an evaluation with queries and their translations; only `learned` has a network."""

    kind: Literal["average", "learned"]
    network: Consistency | None = None
