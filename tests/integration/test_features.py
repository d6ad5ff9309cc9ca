"""The stage `extract-features` as a person runs it, and killed while it works."""

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

from pipeline.images.store import read_features

ROOT = Path(__file__).parents[2]
IMAGES = [f"photo{i}" for i in range(60)]
FEW = 12  # images of tests that kill nothing


@pytest.mark.integration
@pytest.mark.parametrize("number, status", [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)])
def test_killed_runs_end_with_the_undisturbed_result(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """Three kills at random moments; blocks of a second, so that a kill loses little."""
    options = _inputs(tmp_path)
    undisturbed = _start({**options, "--cache": str(tmp_path / "other")}, tmp_path / "whole.h5")
    _, log = undisturbed.communicate()
    assert undisturbed.returncode == 0, log
    output, cache = tmp_path / "killed.h5", tmp_path / "cache"
    for kills in (1, 2, 3):
        process = _start(options, output)
        while process.poll() is None and len(list(cache.rglob("*.npz"))) < 2 * kills:
            time.sleep(0.001)
        process.send_signal(number)
        process.communicate()
        assert process.returncode == status
        assert not output.exists()
    last = _start(options, output)
    _, log = last.communicate()
    assert last.returncode == 0, log
    assert "have been extracted before" in log
    assert output.read_bytes() == (tmp_path / "whole.h5").read_bytes()


@pytest.mark.integration
def test_shards_of_the_command_line_fill_one_cache(tmp_path: Path) -> None:
    options = _inputs(tmp_path, FEW)
    for number in (1, 2):
        given = {**options, "--shard": f"{number}-of-2", "--output": str(tmp_path / f"{number}.csv")}
        done = _stage("extract-features", *_listed_options(given))
        assert done.returncode == 0, done.stderr
    done = _stage("extract-features", *_listed_options({**options, "--output": str(tmp_path / "all.h5")}))
    assert done.returncode == 0, done.stderr
    assert f"{FEW} of {FEW} images have been extracted before" in done.stderr
    assert read_features(tmp_path / "all.h5", IMAGES[:FEW], {"crops": 10}).shape == (FEW, 512)


def _stage(
    stage: str, *arguments: object, env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pipeline", stage, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env)


def _listed_options(options: dict[str, str]) -> list[str]:
    return [part for option in options.items() for part in option]


def _inputs(folder: Path, count: int = len(IMAGES)) -> dict[str, str]:
    draw = np.random.default_rng(0)
    (folder / "photographs").mkdir()
    images = IMAGES[:count]
    for name in images:
        pixels = draw.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "photographs" / f"{name}.png")
    (folder / "split.csv").write_text("image,split\n" + "".join(f"{image},train\n" for image in images))
    found = _stage(
        "find-images", "--images", folder / "photographs", "--split", folder / "split.csv",
        "--output", folder / "images.csv",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    torch.save(timm.create_model("resnet10t").state_dict(), folder / "w.pth")
    weights = str(folder / "w.pth")
    settings = {
        "backbone": "resnet10t",
        "weights": weights,
        "resize": 256,
        "crop": 224,
        "crops": 10,
    }
    return {
        "--images": str(folder / "images.csv"),
        "--settings": json.dumps(settings),
        "--failed": str(folder / "failed.csv"),
        "--cache": str(folder / "cache"),
        "--threads": "1",
        "--batch-size": "1",
    }


def _start(options: dict[str, str], output: Path) -> "subprocess.Popen[str]":
    start = "from pipeline.images import extract; extract.SECONDS_OF_A_BLOCK = 0.2; "
    command = [sys.executable, "-c", f"{start}from pipeline.__main__ import main; raise SystemExit(main())"]
    arguments = ["extract-features", *_listed_options({**options, "--output": str(output)})]
    return subprocess.Popen([*command, *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True)
