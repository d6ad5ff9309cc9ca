"""A job refuses code that was edited since its run began, if it imports it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import digest as code

OWN = "image,language,caption\n" + "".join(f"{n}.jpg,en,a dog\n" for n in range(10))


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("pipeline/datasets/sources/custom.py", True),  # the source, by name
        ("pipeline/datasets/table.py", True),  # which the stage imports
        ("pipeline/datasets/sources/mscoco.py", False),  # another source
        ("pipeline/common/progress.py", False),  # without effect on a result
        ("pipeline/models/losses/matching.py", False),
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
    planned = code.digest("split", ("pipeline.datasets.sources.custom",))
    files = ["--settings", '{"source": "custom", "captions": "captions.csv"}', "--output", "split.csv"]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "split", "--code", planned, *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == refused, done.stderr
    assert (tmp_path / "split.csv").exists() is not refused
    if refused:
        assert done.stderr.startswith("error: the code of split was edited after this run of Snakemake began")
