"""The stages of training, with the files of an experiment, and settings that tests have as dictionaries."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args

import pytest

from pipeline.common.block import Block
from pipeline.training import assign as assigning
from pipeline.training import lessons, loop
from pipeline.training import pretrain as pretraining
from pipeline.training import train as training
from pipeline.training.batches import Sampler
from pipeline.training.data import Inputs
from pipeline.training.settings import AssignSettings, LessonsSettings, PretrainSettings, TrainSettings
from pipeline.training.tasks import TaskSampler

B = TypeVar("B", bound=Block)


def block_of(kind: type[B], values: Mapping[str, Any]) -> B:
    """A block from the values that it has keys for; all other values belong to other blocks."""
    fields = {key: kind.model_fields[key].annotation for key in values if key in kind.model_fields}
    return kind.from_values({key: _value(of, values[key]) for key, of in fields.items()}, kind.__name__)


def _value(kind: Any, value: Any) -> Any:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    blocks = [of for of in kinds if isinstance(of, type) and issubclass(of, Block)]
    return block_of(blocks[0], value) if blocks and isinstance(value, Mapping) else value


class Killed(BaseException):
    """Stands for a signal that cannot be caught."""


@contextmanager
def killed_after(steps: int) -> Iterator[None]:
    """A block whose training is killed after so many steps, each of which saved a checkpoint."""
    left = iter(range(steps))

    def dying(batch: Any) -> Any:
        def batch_or_death(sampler: Any, step: int) -> Any:
            if next(left, None) is None:
                raise Killed
            return batch(sampler, step)

        return batch_or_death

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        for sampler in (Sampler, TaskSampler):
            patch.setattr(sampler, "batch", dying(sampler.batch))
        yield


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
        [inputs.steps_of] if inputs.steps_of else [],
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
