"""The benchmarks run to their end, at sizes that say nothing about speed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = {
    "whole_training": "--images 40 --validation 10 --epochs 1 --batch 20 --hidden 8 --threads 1",
    "training": "--images 24 --corpus-images 40 --hidden 8 --models mule --steps 1 --rounds 1",
    "features": "--backbone resnet18 --resize 40 --crop 32 --images 2 --repeat 1",
}
SAID = {"whole_training": "1 epochs, ", "training": "plain over fast ", "features": "end to end "}


@pytest.mark.integration
@pytest.mark.machine
@pytest.mark.parametrize("benchmark", SMALL)
def test_a_benchmark_ends_with_its_numbers(benchmark: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *SMALL[benchmark].split()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert SAID[benchmark] in ended.stdout
