"""The stage `extract-features` as a person runs it, and killed while it works."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import timm
import torch
import warm
from PIL import Image

from pipeline.digest import digest
from pipeline.images.store import DONE, read_features

ROOT = Path(__file__).parents[2]
IMAGES = [f"photo{i}" for i in range(60)]
FEW = 12  # images of tests that kill nothing


@pytest.mark.extended
@pytest.mark.integration
def test_killed_runs_end_with_the_undisturbed_result(tmp_path: Path) -> None:
    """After three SIGKILLs at random moments, the store is the same to the byte."""
    options = _inputs(tmp_path)
    undisturbed = _start(options, tmp_path / "whole.h5")
    _, log = undisturbed.communicate()
    assert undisturbed.returncode == 0, log
    assert (tmp_path / "failed.csv").read_text() == "image,path,reason\n"

    output, partial = tmp_path / "killed.h5", tmp_path / "killed.h5.partial"
    done = 0
    for _ in range(3):
        process = _start(options, output)
        while process.poll() is None and _done(partial) < done + 10:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not output.exists()
        assert _done(partial) >= done + 10
        done = _done(partial)

    last = _start(options, output)
    _, log = last.communicate()
    assert last.returncode == 0, log
    assert "resuming after" in log
    assert output.read_bytes() == (tmp_path / "whole.h5").read_bytes()
    assert not partial.exists()


@pytest.mark.extended
@pytest.mark.integration
def test_sigterm_ends_the_run_cleanly_and_keeps_what_was_done(tmp_path: Path) -> None:
    options, output = _inputs(tmp_path), tmp_path / "out.h5"
    partial = tmp_path / "out.h5.partial"
    process = _start(options, output)
    while process.poll() is None and _done(partial) < 10:
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert log.splitlines()[-1].startswith("ended by SIGTERM. What was finished is kept. Run")
    done = _done(partial)
    assert 10 <= done < 60
    last = _start(options, output)
    _, log = last.communicate()
    assert last.returncode == 0, log
    assert f"resuming after {done} images" in log
    assert read_features(output, IMAGES, {"crops": 10}).shape == (60, 512)


@pytest.mark.extended
@pytest.mark.integration
def test_shards_of_the_command_line_merge_into_one_store(tmp_path: Path) -> None:
    options = _inputs(tmp_path, FEW)
    shards, failed = [tmp_path / f"{n}.h5" for n in (1, 2)], [tmp_path / f"{n}.csv" for n in (1, 2)]
    for number, (shard, listed) in enumerate(zip(shards, failed, strict=True), 1):
        given = {**options, "--shard": f"{number}/2", "--failed": str(listed), "--output": str(shard)}
        done = _stage("extract-features", *_listed_options(given))
        assert done.returncode == 0, done.stderr
    done = _stage(
        "merge-features", "--images", tmp_path / "images.csv", "--shards", *shards, "--failed", *failed,
        "--output", tmp_path / "merged.h5", "--failed-output", tmp_path / "failed.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Rows of a finished store are reused where they were made by the same code.
    expected = {"crops": 10, "code": digest("extract-features")}
    assert read_features(tmp_path / "merged.h5", IMAGES[:FEW], expected).shape == (FEW, 512)
    wrong = _stage(
        "extract-features",
        *_listed_options({**options, "--shard": "3/2", "--output": str(tmp_path / "out.h5")}),
    )
    assert "expected I/N with I from 1 to N" in wrong.stderr


@pytest.mark.integration
@pytest.mark.extended
def test_a_run_without_its_gpu_logs_that_and_how_long_it_takes(tmp_path: Path) -> None:
    options = {**_inputs(tmp_path, FEW), "--gpus": "1", "--output": str(tmp_path / "out.h5")}
    done = _stage(
        "extract-features", *_listed_options(options), env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    )
    assert done.returncode == 0, done.stderr
    assert "A GPU WAS REQUESTED, BUT NONE IS AVAILABLE" in done.stderr
    assert re.search(rf"about .* for {FEW} images", done.stderr)


def _stage(
    stage: str, *arguments: object, env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    command = [warm.python(), "-m", "pipeline", stage, *map(str, arguments)]
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
        "--threads": "1",
        "--batch-size": "1",
    }


def _start(options: dict[str, str], output: Path) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "pipeline",
        "extract-features",
        *_listed_options({**options, "--output": str(output)}),
    ]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def _done(partial: Path) -> int:
    """Number of images that an unfinished store has, read while it is being written."""
    if not partial.exists():
        return 0
    with h5py.File(partial, locking=False) as file:
        return int((file["done"][...] == DONE).sum())
