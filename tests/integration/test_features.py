"""The features stage as a person runs it, killed in the midst of its work."""

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

ROOT = Path(__file__).parents[2]
IMAGES = [f"photo{i}" for i in range(60)]


@pytest.mark.integration
def test_killed_runs_end_in_the_undisturbed_result(tmp_path: Path) -> None:
    """Killed by SIGKILL three times at moments of no one's choosing, the store is the same to the byte."""
    options = _inputs(tmp_path)
    undisturbed = _start(options, tmp_path / "whole.h5")
    _, log = undisturbed.communicate()
    assert undisturbed.returncode == 0, log

    output, journal = tmp_path / "killed.h5", tmp_path / "killed.h5.partial"
    size = 0
    for _ in range(3):
        process = _start(options, output)
        while process.poll() is None and _size(journal) < size + 20_000:  # about ten images more
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not output.exists()
        size = _size(journal)

    last = _start(options, output)
    _, log = last.communicate()
    assert last.returncode == 0, log
    assert "going on after" in log
    assert output.read_bytes() == (tmp_path / "whole.h5").read_bytes()
    assert not journal.exists()


def _inputs(folder: Path) -> dict[str, str]:
    draw = np.random.default_rng(0)
    (folder / "photographs").mkdir()
    for name in IMAGES:
        pixels = draw.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "photographs" / f"{name}.png")
    rows = [f"{image},train,en,a dog,human,\n" for image in IMAGES]
    captions = "image,split,language,caption,origin,source_language\n" + "".join(rows)
    (folder / "captions.csv").write_text(captions)
    torch.save(timm.create_model("resnet10t").state_dict(), folder / "w.pth")
    weights = str(folder / "w.pth")
    settings = {
        "backbone": "resnet10t",
        "weights": weights,
        "resize": 256,
        "crop": 224,
        "crops": 10,
        "batch": 1,
    }
    return {
        "--images": str(folder / "photographs"),
        "--captions": str(folder / "captions.csv"),
        "--settings": json.dumps(settings),
        "--threads": "1",
    }


def _start(options: dict[str, str], output: Path) -> "subprocess.Popen[str]":
    given = [part for option in {**options, "--output": str(output)}.items() for part in option]
    command = [sys.executable, "-m", "pipeline", "features", *given]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
