"""What a training keeps through deletions, damage, a full disk and a signal."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from run_stages import train

from pipeline.models.model import load_model
from pipeline.training.batches import Sampler
from pipeline.training.data import Inputs

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


def train_weights(inputs: Inputs, settings: dict[str, Any], folder: Path) -> dict[str, torch.Tensor]:
    folder.mkdir(exist_ok=True)
    train(inputs, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    return load_model(folder / "model.pt")[0].state_dict()


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, second[name]) for name, value in first.items())


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
        patch.setattr(Sampler, "batch", None)
        assert same(whole, train_weights(inputs, experiment, tmp_path))
    assert (model.read_bytes(), curves.read_bytes()) == before
    (tmp_path / "checkpoint-model.pt").unlink()
    model.unlink()
    assert same(whole, train_weights(inputs, experiment, tmp_path))  # trained again, because nothing is kept


def test_a_signal_ends_a_training_at_once_and_leaves_no_temporary_file(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment["training"]["epochs"] = 100_000
    arguments = [
        sys.executable, "-m", "pipeline", "train", "--code", "code",
        "--settings", json.dumps(experiment), "--features", str(inputs.features),
        "--sentences", *map(str, inputs.sentences), "--words", *map(str, inputs.words),
        "--checkpoint", str(tmp_path / "checkpoint.pt"), "--curves", str(tmp_path / "curves.csv"),
        "--output", str(tmp_path / "model.pt"),
    ]  # fmt: skip
    job = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not (tmp_path / "curves.csv").exists():
        assert job.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    job.send_signal(signal.SIGTERM)
    _, log = job.communicate(timeout=120)
    assert job.returncode == 128 + signal.SIGTERM
    assert log.splitlines()[-1].startswith("ended by SIGTERM.")
    assert [path.name for path in tmp_path.iterdir()] == ["curves.csv"]
