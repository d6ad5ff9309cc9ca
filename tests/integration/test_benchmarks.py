"""Every benchmark runs to its end, at sizes too small to measure speed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEPS = "--images 24 --corpus-images 40 --hidden 8 --models mule --steps 1 --rounds 1"
FEATURES = "--backbone resnet18 --resize 40 --crop 32 --images 2 --repeat 1 --without-plain"


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "options", "number"),
    [
        ("training", STEPS, r"plain over fast ([\d.]+) "),
        ("features", FEATURES, r"^end to end +[\d.]+ +([\d.]+) "),
    ],
)
def test_a_benchmark_ends_with_its_numbers(benchmark: str, options: str, number: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *options.split()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    (found,) = re.findall(number, ended.stdout, re.M)
    assert float(found) > 0
    assert "plain script" not in ended.stdout
