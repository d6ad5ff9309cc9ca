"""A job refuses code that was edited since its run began, if it imports it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import digest as code
from pipeline import edited

OWN = "image,language,caption\n" + "".join(f"{n}.jpg,en,a dog\n" for n in range(10))


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("pipeline/datasets/own.py", True),  # the stage begins from it
        ("pipeline/datasets/table.py", True),  # which imports it
        ("pipeline/models/losses.py", False),  # which does not
        ("pipeline/common/progress.py", False),  # without effect on a result
        ("pipeline/datasets/new.py", False),
        (None, False),
    ],
)
def test_an_edit_concerns_the_stages_that_import_it(tmp_path: Path, file: str | None, refused: bool) -> None:
    for package in code.PACKAGES:
        shutil.copytree(code.ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "captions.csv").write_text(OWN)
    if file:
        with (tmp_path / file).open("a") as source:
            source.write("\nEDITED = True\n")
    files = ["--table", "captions.csv", "--output", "split.csv"]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "split", "--dataset", "own", *files],
        cwd=tmp_path,
        env={**os.environ, edited.VARIABLE: edited.snapshot()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == refused, done.stderr
    assert (tmp_path / "split.csv").exists() is not refused
    if refused:
        assert file
        name = file.removesuffix(".py").replace("/", ".")
        assert done.stderr.startswith(f"error: {name} was edited after this run of Snakemake began")
