"""The benchmarks run to their end, at sizes that say nothing about speed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENDS = [  # benchmark, options, what its last lines say
    (
        "whole_training",
        "--images 40 --validation 10 --epochs 1 --batch 20 --hidden 8 --threads 1",
        "1 epochs, ",
    ),
    (
        "training",
        "--images 24 --corpus-images 40 --hidden 8 --models mule --steps 1 --rounds 1",
        "plain over fast ",
    ),
    ("features", "--backbone resnet18 --resize 40 --crop 32 --images 2 --repeat 1", "end to end "),
]


@pytest.mark.integration
@pytest.mark.parametrize("benchmark, options, said", ENDS)
def test_a_benchmark_ends_with_its_numbers(benchmark: str, options: str, said: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *options.split()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert said in ended.stdout
