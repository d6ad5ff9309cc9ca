"""Jobs run the Python that runs Snakemake, whichever comes first in PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import copy_of_project

pytestmark = [pytest.mark.integration, pytest.mark.extended]

MADE = "work/demo/multi30k/captions/de.csv"


def test_snakemake_called_by_its_path_needs_no_active_environment(tmp_path: Path) -> None:
    """The first `python` in PATH is another one, without our packages."""
    project = copy_of_project(tmp_path)
    project.configure(scale="demo", sources={"scenes": 20})
    other = tmp_path / "other"
    other.mkdir()
    for name in ("python", "python3"):
        (other / name).write_text("#!/bin/sh\necho \"No module named 'pandas'\" >&2\nexit 1\n")
        (other / name).chmod(0o755)
    snakemake = Path(sys.executable).with_name("snakemake")
    command = [str(snakemake), "--configfile", "small.yaml", "--cores", "1", MADE]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.pathsep.join([str(other), "/usr/bin", "/bin"])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / MADE).exists()
