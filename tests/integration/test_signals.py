"""SIGTERM, as queues send it: training resumes at the same step, extraction after its last batch."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from run_stages import pretrain, train

from pipeline.common.errors import InputError
from pipeline.common.signals import Interrupted
from pipeline.evaluation.evaluate import mean_recalls
from pipeline.models.model import load_model
from pipeline.training import best_epoch, loop
from pipeline.training.data import Inputs

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


def train_weights(inputs: Inputs, settings: dict[str, Any], folder: Path) -> dict[str, torch.Tensor]:
    folder.mkdir(exist_ok=True)
    train(inputs, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    return load_model(folder / "model.pt")[0].state_dict()


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, second[name]) for name, value in first.items())


class WithSignal:
    """A function that sends this process a signal during its call number `at`."""

    def __init__(self, function: Any, at: int):
        self.function, self.at, self.calls = function, at, 0

    def __get__(self, instance: object, owner: type) -> Any:
        return lambda *arguments: self(instance, *arguments)

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGTERM)
        return self.function(*arguments)


def test_training_saves_its_step_and_resumes_from_it(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment["training"]["epochs"] = 3
    whole = train_weights(inputs, experiment, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(loop.Run, "_step", WithSignal(loop.Run._step, at=6))
        with pytest.raises(Interrupted, match=r"checkpoint\.pt is from epoch 2, step 2\. Run") as end:
            train_weights(inputs, experiment, tmp_path / "ended")
    assert end.value.number == signal.SIGTERM
    saved = torch.load(tmp_path / "ended" / "checkpoint.pt", weights_only=True)
    assert (saved["epoch"], saved["step"]) == (1, 2)  # steps of an epoch: 48 images by 12
    assert same(whole, train_weights(inputs, experiment, tmp_path / "ended"))
    assert (tmp_path / "ended/curves.csv").read_bytes() == (tmp_path / "whole/curves.csv").read_bytes()


@pytest.mark.parametrize("toward", ["initial", "previous_epoch"])
def test_a_validation_is_interrupted_at_once_and_repeated(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toward: str
) -> None:
    experiment["training"]["epochs"] = 3
    experiment["word_regularizer"] = {"weight": 0.1, "regularize_toward": toward}
    whole = train_weights(inputs, experiment, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(best_epoch, "mean_recalls", WithSignal(mean_recalls, at=2))
        with pytest.raises(Interrupted, match="epoch 2, step 4"):
            train_weights(inputs, experiment, tmp_path / "ended")
    assert same(whole, train_weights(inputs, experiment, tmp_path / "ended"))


def test_pretraining_saves_its_step_and_ends_with_the_same_bytes(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**experiment, "training": {**experiment["training"], "epochs": 2}}
    whole, ended = tmp_path / "whole.pt", tmp_path / "ended.pt"
    pretrain(inputs, settings, "code", tmp_path / "one.pt", whole)
    with monkeypatch.context() as patch:
        patch.setattr(loop.Run, "_step", WithSignal(loop.Run._step, at=3))
        with pytest.raises(Interrupted, match="epoch 1, step 3"):
            pretrain(inputs, settings, "code", tmp_path / "other.pt", ended)
    pretrain(inputs, settings, "code", tmp_path / "other.pt", ended)
    assert whole.read_bytes() == ended.read_bytes()


def test_a_model_deleted_after_its_training_is_restored_without_a_step(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snakemake deletes it if it was killed before the end of a job that continued in a queue."""
    experiment["training"]["epochs"] = 1
    whole = train_weights(inputs, experiment, tmp_path)
    model, curves = (tmp_path / name for name in ("model.pt", "curves.csv"))
    before = model.read_bytes(), curves.read_bytes()
    assert model.stat().st_nlink == 2  # kept without a copy
    model.unlink()
    curves.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(loop.Run, "_step", None)
        assert same(whole, train_weights(inputs, experiment, tmp_path))
    assert (model.read_bytes(), curves.read_bytes()) == before
    (tmp_path / "checkpoint-model.pt").unlink()
    model.unlink()
    assert same(whole, train_weights(inputs, experiment, tmp_path))  # trained again, because nothing is kept


def test_a_damaged_checkpoint_is_one_clear_message(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment["training"]["epochs"] = 1
    (tmp_path / "checkpoint.pt").write_bytes(b"PK\x03\x04 half")
    with pytest.raises(
        InputError,
        match=r"checkpoint\.pt: not a checkpoint of a training, or damaged: .* Delete it to start over",
    ):
        train_weights(inputs, experiment, tmp_path)


def test_a_job_that_a_queue_ends_with_its_shell_saves_before_it_is_gone(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    """The tree of a rule's job: a shell, as Snakemake starts it, that becomes Python; all get the signal."""
    experiment["training"]["epochs"] = 100_000
    assert "exec python -m pipeline train " in (ROOT / "workflow/rules/training.smk").read_text()
    arguments = " ".join(
        [
            f"--settings '{json.dumps(experiment)}' --features {inputs.features}",
            f"--sentences {' '.join(map(str, inputs.sentences))} --words {' '.join(map(str, inputs.words))}",
            f"--checkpoint {tmp_path}/checkpoint.pt --curves {tmp_path}/curves.csv",
            f"--output {tmp_path}/model.pt",
        ]
    )
    log = tmp_path / "train.log"
    command = f"set -euo pipefail; exec {sys.executable} -m pipeline train {arguments} > {log} 2>&1"
    job = subprocess.Popen(["bash", "-c", command], cwd=ROOT, start_new_session=True)
    until = time.monotonic() + 120
    while not (tmp_path / "checkpoint.pt").exists():
        assert job.poll() is None and time.monotonic() < until, log.read_text()
        time.sleep(0.05)
    os.killpg(job.pid, signal.SIGTERM)
    assert job.wait(timeout=120) == 128 + signal.SIGTERM
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    last = log.read_text().splitlines()[-1]
    assert last.startswith("ended by SIGTERM.")
    assert f"is from epoch {saved['epoch'] + 1}, step {saved['step']}." in last
    assert not list(tmp_path.glob(".*.part"))
