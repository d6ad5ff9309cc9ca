"""The loop of every training on a model of three weights: what a step depends on, what is kept and shown."""

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from run_stages import Killed
from tensorboardX.proto.event_pb2 import Event
from torch import Tensor, nn

from pipeline.common.errors import InputError
from pipeline.training import loop
from pipeline.training.best_epoch import validation_row
from pipeline.training.loop import Job, State, train_steps

Scalars = dict[str, list[tuple[int, float]]]


def job(folder: Path, events: Path | None = None) -> Job:
    return Job(folder / "checkpoint.pt", [folder / "curves.csv"], "same", folder / "curves.csv", events)


def train(
    where: Job,
    model: nn.Module | None = None,
    terms: Callable[[nn.Module, int], Mapping[str, Tensor]] | None = None,
    **schedule: Any,
) -> State:
    """Train a model, by default on targets that depend on the step, with dropout."""
    torch.manual_seed(0)
    model = model or nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 1))

    def with_dropout(model: nn.Module, step: int) -> Mapping[str, Tensor]:
        return {"square": (model(torch.ones(4, 2)) - step % 3).square().mean()}

    def of_step(step: int) -> dict[str, Tensor]:
        return dict((terms or with_dropout)(model, step))

    usual = {"seed": 0, "steps": 12, "validate_every": 4, "rate": lambda step: 0.1}
    return train_steps(where, model, of_step, **{**usual, **schedule})


def killing(after: int) -> Callable[[nn.Module, int], Mapping[str, Tensor]]:
    """The terms of steps up to some step, before which the training is killed."""

    def terms(model: nn.Module, step: int) -> Mapping[str, Tensor]:
        if step == after:
            raise Killed
        return {"square": (model(torch.ones(4, 2)) - step % 3).square().mean()}

    return terms


@pytest.mark.parametrize("after", [1, 3, 4, 7, 11])
def test_a_killed_run_ends_with_the_same_weights_and_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Wherever it is killed: within an epoch, after its last step, before the last step."""
    models = [nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5)) for _ in range(3)]
    for model in models[1:]:
        model.load_state_dict(models[0].state_dict())
    scores: dict[str, Any] = {"validate": lambda: {"score": 1.0}, "score": "score"}
    whole = train(job(tmp_path / "whole"), models[0], **scores)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with pytest.raises(Killed):
        train(job(tmp_path / "killed"), models[1], killing(after), **scores)
    resumed = train(job(tmp_path / "killed"), models[2], **scores)
    assert torch.equal(models[0].state_dict()["0.weight"], models[2].state_dict()["0.weight"])
    assert resumed.curves == whole.curves
    assert torch.equal(resumed.best_weights["0.weight"], whole.best_weights["0.weight"])
    curves = [(tmp_path / run / "curves.csv").read_bytes() for run in ("whole", "killed")]
    assert curves[0] == curves[1]


def test_the_curves_so_far_are_at_their_final_path(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train(job(tmp_path), terms=killing(11))
    assert pd.read_csv(tmp_path / "curves.csv")["epoch"].tolist() == [1, 2]


def test_random_numbers_depend_on_seed_and_step(tmp_path: Path) -> None:
    drawn: dict[int, list[float]] = {}

    def draw(model: nn.Module, step: int) -> Mapping[str, Tensor]:
        drawn[seed].append(torch.rand(()).item())
        return {"zero": 0 * next(model.parameters()).sum()}

    for seed in (3, 4, 20_261_121):  # a date may be a seed
        drawn[seed] = []
        train(job(tmp_path / str(seed)), terms=draw, seed=seed)
    assert len({number for numbers in drawn.values() for number in numbers}) == 36


FOUND = [(10.0, 30.0), (40.0, 20.0), (35.0, 25.0), (50.0, 5.0)]  # means of 20, 30, 30 and 27.5


def test_the_first_of_the_epochs_with_the_best_mean_is_kept(tmp_path: Path) -> None:
    """Not a later epoch that is as good, nor the epoch that is best in a single language."""
    rows = [validation_row({"en": english, "de": german}) for english, german in FOUND]
    assert rows[0] == {"val_mR": 20.0, "val_mR_en": 10.0, "val_mR_de": 30.0}
    model, left = nn.Linear(2, 1), iter(rows)
    seen = []

    def validate() -> Mapping[str, float]:
        seen.append(model.weight.detach().clone())
        return next(left)

    state = train(job(tmp_path), model, steps=16, validate=validate, score="val_mR")
    assert (state.best_row, state.best_score) == (2, 30.0)
    assert torch.equal(state.best_weights["weight"], seen[1])
    assert [row["val_mR"] for row in state.curves] == [20.0, 30.0, 30.0, 27.5]


@pytest.mark.parametrize(
    ("scores", "patience", "validations", "best"),
    [
        ([10.0, 30.0, 20.0, 30.0, 25.0, 40.0], 3, 5, 2),
        ([10.0, 30.0, 20.0, 29.0, 31.0, 25.0], 3, 6, 5),
        ([10.0, 30.0, 20.0, 30.0, 25.0, 20.0], None, 6, 2),
    ],
)
def test_training_stops_after_so_many_validations_without_a_higher_score(
    tmp_path: Path, scores: list[float], patience: int | None, validations: int, best: int
) -> None:
    left = iter(scores)
    chosen: dict[str, Any] = {
        "validate": lambda: {"score": next(left)},
        "score": "score",
        "patience": patience,
    }
    state = train(job(tmp_path), steps=24, **chosen)
    assert (len(state.curves), state.best_row, state.step) == (validations, best, 4 * validations)
    again = train(job(tmp_path), steps=24, **chosen)  # killed before its model was written
    assert again.step == state.step


@pytest.mark.parametrize(("loss", "word"), [(math.nan, "nan"), (math.inf, "inf")])
def test_a_loss_that_is_not_finite_ends_the_training(tmp_path: Path, loss: float, word: str) -> None:
    def terms(model: nn.Module, step: int) -> Mapping[str, Tensor]:
        return {"square": next(model.parameters()).sum() + (loss if step == 5 else 0.0)}

    with pytest.raises(InputError, match=rf"the loss is {word} .*[Ll]ower the learning rate"):
        train(job(tmp_path), terms=terms)


@pytest.mark.parametrize(("longest", "expected"), [(2.0, 2.0), (100.0, 50.0), (None, 50.0)])
def test_a_gradient_is_clipped_to_a_norm(tmp_path: Path, longest: float | None, expected: float) -> None:
    layer = nn.Linear(2, 1)

    def terms(model: nn.Module, step: int) -> Mapping[str, Tensor]:
        return {"sum": 30 * layer.weight[0, 0] + 40 * layer.bias[0]}

    train(job(tmp_path), layer, terms, steps=1, max_grad_norm=longest)
    assert layer.weight.grad is not None and layer.bias.grad is not None
    clipped = torch.cat([layer.weight.grad.flatten(), layer.bias.grad])
    torch.testing.assert_close(clipped, torch.tensor([0.6, 0.0, 0.8]) * expected)


def scalars(folder: Path) -> Scalars:
    """What TensorBoard shows for a folder: (step, value) by name; a later run replaces its steps."""
    found: Scalars = {}
    for path in sorted(folder.glob("events.*")):
        for event in records(path.read_bytes()):
            if event.HasField("session_log"):
                begun = event.step
                found = {name: [one for one in each if one[0] < begun] for name, each in found.items()}
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def records(content: bytes) -> Iterator[Any]:
    """The records of an event file: length, its checksum, the event, its checksum."""
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]


def test_tensorboard_shows_terms_rates_norms_and_epochs_also_of_a_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "STEPS_BETWEEN_EVENTS", 1)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    layer, events = nn.Linear(2, 1), tmp_path / "events"
    nn.init.zeros_(layer.weight)

    def terms(model: nn.Module, step: int) -> Mapping[str, Tensor]:
        if step == stop:
            raise Killed
        return {"sum": 3 * layer.weight[0, 0] + 4 * layer.weight[0, 1]}

    schedule = {"rate": lambda step: 0.1 / 2 ** (step // 4), "max_grad_norm": 1.0}
    stop = 6
    with pytest.raises(Killed):
        train(job(tmp_path, events), layer, terms, **schedule)
    stop = 12
    train(job(tmp_path, events), layer, terms, **schedule)
    found = scalars(events)
    assert [step for step, _ in found["training/loss"]] == list(range(12))
    assert found["training/sum"] == found["training/loss"]
    assert [value for _, value in found["training/gradient_norm"]] == pytest.approx([5.0] * 12)
    rates = [value for _, value in found["training/learning_rate"]]
    assert rates == pytest.approx([0.1] * 4 + [0.05] * 4 + [0.025] * 4)
    means = pd.read_csv(tmp_path / "curves.csv")["sum"]
    assert [step for step, _ in found["epochs/sum"]] == [4, 8, 12]
    assert [value for _, value in found["epochs/sum"]] == pytest.approx(means.tolist(), rel=1e-5)
