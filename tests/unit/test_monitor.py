"""A training is watched without being changed: curves so far, event files, warnings."""

import logging
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from run_stages import train
from tensorboardX.proto.event_pb2 import Event

from pipeline.training import loop, monitor
from pipeline.training.adam import Adam
from pipeline.training.data import Inputs
from pipeline.training.monitor import Monitor, partial_curves, warning_of

Scalars = dict[str, list[tuple[int, float]]]


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


def train_with_events(inputs: Inputs, settings: dict[str, Any], folder: Path, events: Path | None) -> None:
    folder.mkdir(exist_ok=True)
    outputs = folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt"
    train(inputs, settings, "code", *outputs, events)


def train_and_stop(inputs: Inputs, settings: dict[str, Any], folder: Path, steps: int, events: Path) -> None:
    """Train for some steps, then stop as a kill would."""
    left = iter(range(steps))
    original = loop.Run._step

    def step(self: loop.Run[Any], *arguments: Any) -> dict[str, torch.Tensor]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return original(self, *arguments)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop.Run, "_step", step)
        patch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        train_with_events(inputs, settings, folder, events)


def test_watching_changes_no_byte_and_survives_a_stop(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "STEPS_BETWEEN_EVENTS", 1)
    experiment["training"] |= {"epochs": 3, "learning_rate_decay": 0.5}
    unseen, seen, events = tmp_path / "unseen", tmp_path / "seen", tmp_path / "events"
    train_with_events(inputs, experiment, unseen, None)
    train_and_stop(inputs, experiment, seen, 10, events)  # 48 images in batches of 12: in the third epoch
    curves = pd.read_csv(unseen / "curves.csv")
    so_far = pd.read_csv(partial_curves(seen / "curves.csv"))
    pd.testing.assert_frame_equal(so_far, curves[:2])
    assert not (seen / "curves.csv").exists()
    train_with_events(inputs, experiment, seen, events)
    for name in ("curves.csv", "model.pt"):
        assert (unseen / name).read_bytes() == (seen / name).read_bytes()
    assert not partial_curves(seen / "curves.csv").exists()
    found = scalars(events)
    assert [step for step, _ in found["training/loss"]] == list(range(12))
    assert [step for step, _ in found["epochs/val_mR"]] == [4, 8, 12]
    assert [value for _, value in found["epochs/val_mR_de"]] == pytest.approx(curves["val_mR_de"], rel=1e-6)
    rates = [value for _, value in found["optimizer/learning_rate"]]
    assert rates == pytest.approx([0.01] * 4 + [0.005] * 4 + [0.0025] * 4)
    of_first = [value for step, value in found["training/loss"] if step < 4]
    assert sum(of_first) / 4 == pytest.approx(curves["loss"][0], rel=1e-5)


def test_the_gradient_norm_is_that_of_all_weights_together(tmp_path: Path) -> None:
    first, second = (torch.zeros(2, requires_grad=True) for _ in range(2))
    optimizer = Adam([first, second], 0.25)
    (3 * first[0] + 4 * second[1]).backward()
    watched = Monitor(events=tmp_path)
    watched.begin(0)
    watched.before_update(0, {"loss": torch.tensor(2.0)}, optimizer)
    watched.end()
    expected = {"training/loss": 2.0, "optimizer/gradient_norm": 5.0, "optimizer/learning_rate": 0.25}
    assert scalars(tmp_path) == {name: [(0, value)] for name, value in expected.items()}


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([1.0, math.nan], "the loss is nan"),
        ([math.inf], "the loss is inf"),
        ([1.0, 2.0, 3.0, 4.0], "rose in each of the last 3 epochs, from 1 to 4"),
        ([5.0, 1.0, 2.0, 3.0, 4.0], "rose in each of the last 3 epochs, from 1 to 4"),
        ([1.0, 2.0, 3.0], ""),
        ([1.0, 2.0, 2.0, 3.0], ""),
        ([4.0, 3.0, 2.0, 1.0], ""),
    ],
)
def test_a_loss_that_shows_no_learning_causes_a_warning(losses: list[float], message: str) -> None:
    assert (message in warning_of(losses)) if message else warning_of(losses) == ""


def test_the_warning_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="pipeline"):
        Monitor(tmp_path / "curves.csv").after_epoch([{"epoch": 1, "loss": math.nan}], 4)
    assert "epoch 1: the loss is nan" in caplog.text
    assert "training.learning_rate" in caplog.text
