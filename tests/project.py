"""A copy of the workflow in its own folder, run by the real Snakemake."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import warm
import yaml
from copies import duplicate
from PIL import Image

from pipeline.settings import merge

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "workflow", "profiles", "config", "pipeline", "search", "envs")

# A model and images so small that a whole table takes a minute.
SMALL: dict[str, Any] = {
    "images": {"resize": 72, "crop": 64, "crops": 1, "workers": 1},
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


# A small data set of one's own with its table: every stage from captions to a table, and an index for search.
OWN_TABLE = "results/own.csv"
OWN_MODEL = "work/demo/shapes/experiments/parallel-embn/seed0"
OWN: dict[str, Any] = {
    "scale": "demo",
    "sources": {"scenes": 36},
    "images": {"features": "mine/features.h5", "dimension": 8, "backbone": "ours", "sets": {}},
    "datasets": {
        "shapes": {
            "source": "custom",
            "captions": "mine/captions.csv",
            "images": "mine/images",
            "languages": ["en", "de"],
        }
    },
    "tables": {
        "own": {
            "columns": {"shapes": ["en", "de"]},
            "rows": [{"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"}],
        }
    },
}
_WORDS = {"en": ["red", "green", "blue", "square", "bar"], "de": ["rot", "grün", "blau", "Quadrat", "Balken"]}


def write_own_data(folder: Path) -> None:
    """Thirty images with random features, a split, and a caption each in English and German."""
    draw = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    images = [f"image{number:02d}" for number in range(30)]
    rows = []
    for number, image in enumerate(images):
        Image.fromarray(draw.integers(0, 255, (40, 50, 3), np.uint8)).save(folder / "images" / f"{image}.png")
        split = "train" if number < 20 else "val" if number < 25 else "test"
        rows += [
            (f"{image}.png", split, language, " ".join(draw.permutation(words)[:3]))
            for language, words in _WORDS.items()
        ]
    table = pd.DataFrame(rows, columns=["image", "split", "language", "caption"])
    table.to_csv(folder / "captions.csv", index=False)
    with h5py.File(folder / "features.h5", "w") as file:
        file["features"] = draw.normal(size=(len(images), 8)).astype(np.float32)
        file.create_dataset("image", data=images, dtype=h5py.string_dtype())
        file.attrs["backbone"] = "ours"


def digests(folder: Path) -> dict[str, str]:
    """Digest of every table, model, feature store and cache."""
    found = sorted(path for part in ("results", "work/demo", "mine") for path in (folder / part).rglob("*"))
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file()
    }


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
