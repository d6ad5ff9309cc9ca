"""A copy of the workflow in its own folder, run by the real Snakemake."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm
import yaml
from copies import duplicate

from pipeline.settings import merge

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "workflow", "profiles", "config", "pipeline", "search", "envs")

# A model and images so small that a whole table takes a minute.
SMALL: dict[str, Any] = {
    "images": {"resize": 72, "crop": 64, "crops": 2, "workers": 1},
    "words": {"dimension": 16, "tokens": 2000},
    "model": {"universal_dim": 16, "multimodal_dim": 16, "hidden_size": 16, "image_hidden_size": 16},
    "training": {"epochs": 1, "batch_images": 20},
    "pretraining": {"epochs": 1},
    "bert": {
        "pretraining": {
            "layers": 2,
            "hidden_size": 16,
            "heads": 2,
            "vocabulary_size": 200,
            "steps": 5,
            "batch_size": 8,
        }
    },
}


# Scenes, features, captions and words of the demo's Multi30K, as several tests train on them.
DEMO: dict[str, Any] = {"scale": "demo", "sources": {"scenes": 60}}
READY = ["features.h5", *(f"words/human/{language}.h5" for language in ("en", "de", "fr", "cs"))]


class Project:
    """A copy of the workflow in its own folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake and its local jobs in forks (`warm.py`) to the end; returns both streams as one."""
        if "--cores" in arguments:
            warm.python()
        done = subprocess.run(
            [warm.snakemake(), "--configfile", "small.yaml", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, "")

    def run_beside(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start Snakemake, with both streams as one text."""
        return subprocess.Popen(
            ["snakemake", "--configfile", "small.yaml", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Environment of a Snakemake whose jobs find this Python."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}

    def make(self, *arguments: str) -> None:
        done = self.snakemake("--cores", "2", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def would_run(self, *arguments: str) -> dict[str, int]:
        """Jobs by rule that a dry run announces."""
        done = self.snakemake("-n", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        text = done.stdout + done.stderr
        if "Job stats" not in text:
            return {}
        listed = text[text.index("Job stats") :]
        return {
            rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", listed, re.M) if rule != "total"
        }

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file}: {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def configure(self, **settings: object) -> None:
        (self.folder / "small.yaml").write_text(yaml.safe_dump(merge(SMALL, settings)))


def copy_of_project(folder: Path) -> Project:
    """Copy the workflow into an existing folder."""
    for part in PARTS:
        source = ROOT / part
        ignore = shutil.ignore_patterns("*.pyc.*", "code-*.[0-9]*")  # files that another process is writing
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=ignore)
        else:
            shutil.copy(source, folder / part)
    return Project(folder)


def ready(folder: Path, temporary: pytest.TempPathFactory) -> Project:
    """A copy with the demo ready to train on, which is made once for all tests of a run, in all processes."""
    base = temporary.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ready"
    kept.mkdir(exist_ok=True)
    with open(kept / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / "project").exists():
            (kept / "unfinished").mkdir()
            made = copy_of_project(kept / "unfinished")
            made.configure(**DEMO)
            made.make(*(f"work/demo/multi30k/{name}" for name in READY))
            (kept / "unfinished").rename(kept / "project")
    project = copy_of_project(folder)
    duplicate([kept / "project" / part for part in ("work", ".snakemake")], folder)
    project.configure(**DEMO)
    return project
