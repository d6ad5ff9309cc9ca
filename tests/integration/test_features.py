"""The stage `extract-features`, killed while it works."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image

from pipeline.images import extract
from pipeline.training import loop

ROOT = Path(__file__).parents[2]
IMAGES = 40
# A block after each photograph, so that a kill loses little.
START = """
from pipeline.images import extract
extract.SECONDS_OF_A_BLOCK = 0.0
from pipeline.cli import main
raise SystemExit(main())
"""


@pytest.mark.integration
def test_a_killed_run_ends_with_the_undisturbed_result(tmp_path: Path) -> None:
    write_photographs(tmp_path)
    whole = start(tmp_path, tmp_path / "whole.h5", tmp_path / "other")
    _, log = whole.communicate()
    assert whole.returncode == 0, log
    output, cache = tmp_path / "killed.h5", tmp_path / "cache"
    process = start(tmp_path, output, cache)
    while process.poll() is None and len(list(cache.rglob("*.npz"))) < 3:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not output.exists()
    last = start(tmp_path, output, cache)
    _, log = last.communicate()
    assert last.returncode == 0, log
    assert "have been extracted before" in log
    assert output.read_bytes() == (tmp_path / "whole.h5").read_bytes()


def test_a_kill_costs_at_most_a_minute() -> None:
    assert 0 < extract.SECONDS_OF_A_BLOCK <= 60
    assert 0 < loop.SECONDS_BETWEEN_CHECKPOINTS <= 60


def write_photographs(folder: Path) -> None:
    """Photographs of noise with their list, and the weights of a small network."""
    draw, lines = np.random.default_rng(0), ["image,path"]
    for number in range(IMAGES):
        path = folder / f"photo{number}.png"
        Image.fromarray(draw.integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(path)
        lines.append(f"{path.stem},{path}")
    (folder / "images.csv").write_text("\n".join(lines) + "\n")
    torch.save(timm.create_model("resnet10t").state_dict(), folder / "weights.pth")


def start(folder: Path, output: Path, cache: Path) -> "subprocess.Popen[str]":
    weights = str(folder / "weights.pth")
    settings = {"backbone": "resnet10t", "weights": weights, "resize": 144, "crop": 128, "crops": 10}
    options = [
        "--images", folder / "images.csv", "--settings", json.dumps(settings), "--cache", cache,
        "--failed", folder / "failed.csv", "--threads", "1", "--batch-size", "1", "--output", output,
    ]  # fmt: skip
    command = [sys.executable, "-c", START, "extract-features", *map(str, options)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
