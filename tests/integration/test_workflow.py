"""The real chain through Snakemake, on a few scenes: it runs, and an edit reruns what it must and no more."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "workflow", "profiles", "config", "pipeline", "envs")

SMALL = {
    "scale": "demo",
    "sources": {"scenes": 36},
    "images": {"resize": 72, "crop": 64, "crops": 2},
    "words": {"dimension": 16, "tokens": 2000},
    "model": {"universal": 16, "multimodal": 16, "hidden": 16, "image_hidden": 16},
    "training": {"epochs": 1, "batch_images": 8},
    "pretraining": {"epochs": 1},
}

pytestmark = pytest.mark.integration


class Project:
    """A copy of the workflow in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["snakemake", "--configfile", "small.yaml", *arguments],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )

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

    def configure(self, **changes: object) -> None:
        (self.folder / "small.yaml").write_text(yaml.safe_dump({**SMALL, **changes}))


def copy(folder: Path) -> Project:
    for part in PARTS:
        source = ROOT / part
        ignore = shutil.ignore_patterns("__pycache__")
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=ignore)
        else:
            shutil.copy(source, folder / part)
    project = Project(folder)
    project.configure()
    return project


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose Table 2 has been made."""
    project = copy(tmp_path_factory.mktemp("project"))
    project.make("results/table2.csv")
    return project


@pytest.fixture
def project(made: Project) -> Iterator[Project]:
    """The made project; edits of code and configuration are taken back."""
    kept = made.folder / ".kept"
    kept.mkdir()
    shutil.copytree(made.folder / "pipeline", kept / "pipeline")
    yield made
    shutil.rmtree(made.folder / "pipeline")
    shutil.move(kept / "pipeline", made.folder / "pipeline")
    kept.rmdir()
    made.configure()


def test_table_2_says_its_scale_and_has_its_columns(made: Project) -> None:
    table = pd.read_csv(made.folder / "results" / "table2.csv")
    assert set(table["scale"]) == {"demo"}
    assert len(table) == 6
    assert table[[f"multi30k {language}" for language in ("en", "de", "fr", "cs")]].notna().all(axis=None)
    comparison = pd.read_csv(made.folder / "results" / "comparison" / "table2.csv")
    assert comparison["measured"].between(0, 100).all()


def test_nothing_reruns_without_a_change(made: Project) -> None:
    assert made.would_run("results/table2.csv") == {}


def test_an_edit_of_the_loss_reruns_training_and_what_follows(project: Project) -> None:
    project.edit("pipeline/models/losses.py", ".clamp(min=0).mean()", ".clamp(min=0).square().mean()")
    assert project.would_run("results/table2.csv") == {
        "pretrain": 1,
        "train": 9,
        "evaluate": 9,
        "tabulate": 1,
    }


def test_an_edit_of_the_recall_code_reruns_evaluation_alone(project: Project) -> None:
    project.edit("pipeline/retrieval/ranks.py", "similarity > right", "similarity >= right")
    assert project.would_run("results/table2.csv") == {"evaluate": 9, "tabulate": 1}


def test_an_edit_of_a_comment_or_docstring_reruns_nothing(project: Project) -> None:
    project.edit("pipeline/models/losses.py", "zeros count.", "zeros do count.")
    project.edit("pipeline/retrieval/ranks.py", "CHUNK = 1024", "# How many?\nCHUNK = 1024")
    project.edit("pipeline/images/crops.py", "From a photograph's file", "From an image file")
    assert project.would_run("results/table2.csv") == {}


def test_a_changed_learning_rate_reruns_the_experiments_that_use_it(project: Project) -> None:
    project.configure(experiments={"mule-nc": {"settings": {"training": {"learning_rate": 0.0005}}}})
    assert project.would_run("results/table2.csv") == {"train": 1, "evaluate": 1, "tabulate": 1}
    project.configure(pretraining={"epochs": 1, "learning_rate": 0.0005})
    jobs = project.would_run("results/table2.csv")
    assert jobs == {"pretrain": 1, "train": 1, "evaluate": 1, "tabulate": 1}


def test_a_second_seed_trains_only_what_is_new(project: Project) -> None:
    project.configure(seeds=[0, 1])
    jobs = project.would_run("results/table2.csv")
    assert jobs == {"pretrain": 1, "train": 9, "evaluate": 9, "tabulate": 1}


def test_another_scale_touches_nothing_of_this_one(made: Project) -> None:
    mirror = ["--config", "scale=pilot", "--", "work/pilot/multi30k/tokens/de.csv"]
    assert set(made.would_run(*mirror)) == {"download", "captions", "tokenize"}
    assert made.would_run("results/table2.csv") == {}


def test_a_mistyped_key_is_one_clear_message(made: Project) -> None:
    done = made.snakemake("-n", "results/table2.csv", "--config", "trainig=1")
    assert done.returncode == 1
    assert "unknown key 'trainig', did you mean 'training'?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_the_paper_scale_says_what_is_missing(made: Project) -> None:
    done = made.snakemake("-n", "results/table2.csv", "--config", "scale=paper")
    assert done.returncode == 1
    assert "set images.folder" in (done.stdout + done.stderr).replace("\n", " ")


def test_bad_features_stop_the_run_with_their_message_and_touch_no_table(project: Project) -> None:
    table = project.folder / "results" / "table2.csv"
    features = project.folder / "work" / "demo" / "multi30k" / "features.h5"
    before, whole = table.read_bytes(), features.read_bytes()
    times = os.stat(features)
    features.write_bytes(whole[: len(whole) // 2])
    try:
        done = project.snakemake("--cores", "2", "results/table2.csv")
    finally:
        features.write_bytes(whole)
        os.utime(features, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert done.returncode == 1
    assert "not a whole feature store" in done.stdout + done.stderr
    assert table.read_bytes() == before
