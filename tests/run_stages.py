"""The stages of training, with the files of an experiment, and settings that tests have as dictionaries."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args

from pipeline.common.block import Block
from pipeline.training import assign as assigning
from pipeline.training import lessons
from pipeline.training import pretrain as pretraining
from pipeline.training import train as training
from pipeline.training.data import Inputs
from pipeline.training.settings import AssignSettings, LessonsSettings, PretrainSettings, TrainSettings

B = TypeVar("B", bound=Block)


def block_of(kind: type[B], values: Mapping[str, Any]) -> B:
    """A block from the values that it has keys for; all other values belong to other blocks."""
    fields = {key: kind.model_fields[key].annotation for key in values if key in kind.model_fields}
    return kind.from_values({key: _value(of, values[key]) for key, of in fields.items()}, kind.__name__)


def _value(kind: Any, value: Any) -> Any:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    blocks = [of for of in kinds if isinstance(of, type) and issubclass(of, Block)]
    return block_of(blocks[0], value) if blocks and isinstance(value, Mapping) else value


def train(
    inputs: Inputs,
    settings: Mapping[str, Any],
    code: str,
    checkpoint: Path,
    curves: Path,
    output: Path,
    events: Path | None = None,
) -> None:
    assert inputs.features
    training.train(
        block_of(TrainSettings, settings),
        inputs.features,
        inputs.sentences,
        inputs.words,
        checkpoint,
        curves,
        output,
        code,
        inputs.translations,
        [inputs.pretrained] if inputs.pretrained else [],
        events,
        [inputs.steps] if inputs.steps else [],
    )


def pretrain(inputs: Inputs, settings: Mapping[str, Any], code: str, checkpoint: Path, output: Path) -> None:
    files = inputs.sentences, inputs.words, checkpoint, output
    pretraining.pretrain(block_of(PretrainSettings, settings), *files, code, inputs.translations)


def assign(
    inputs: Inputs, settings: Mapping[str, Any], code: str, checkpoint: Path, output: Path, table: Path
) -> None:
    files = inputs.sentences, inputs.words, checkpoint, output, table
    assigning.assign(block_of(AssignSettings, settings), *files, code, inputs.translations)


def train_lessons(
    inputs: Inputs,
    pairs: Sequence[Path],
    settings: Mapping[str, Any],
    code: str,
    checkpoint: Path,
    curves: Path,
    output: Path,
) -> None:
    assert inputs.features
    chosen = block_of(LessonsSettings, settings)
    files = inputs.features, inputs.sentences, inputs.words
    lessons.train_lessons(chosen, *files, checkpoint, curves, output, code, pairs)
