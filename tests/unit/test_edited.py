"""A job refuses code that was edited since its run began, if it imports it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import code, edited

OWN = "image,language,caption\n" + "".join(f"{n}.jpg,en,a dog\n" for n in range(10))


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("captions/own.py", True),  # the stage begins from it
        ("captions/table.py", True),  # which imports it
        ("models/losses.py", False),  # which does not
        ("progress.py", False),  # without effect on a result
        ("captions/new.py", False),
        (None, False),
    ],
)
def test_an_edit_concerns_the_stages_that_import_it(tmp_path: Path, file: str | None, refused: bool) -> None:
    shutil.copytree(code.ROOT, tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "captions.csv").write_text(OWN)
    if file:
        with (tmp_path / "pipeline" / file).open("a") as source:
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
        name = f"pipeline.{file.removesuffix('.py').replace('/', '.')}"
        assert done.stderr.startswith(f"error: {name} was edited after this run of Snakemake began")
