"""A small finished project, and a user's two commands, each in a forked process.

Every command is its program's `main` in a fork of a process that has already imported what commands import,
which takes Python seconds.
"""

import csv
import hashlib
import importlib
import os
import resource
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import warm
import yaml
from forked import Exit, exit_of
from PIL import Image
from project import SMALL, copy_of_project

from pipeline import digest as code
from pipeline.settings import merge
from pipeline.stages import STAGES
from search.stages import STAGES as SEARCH_STAGES

WORDS = {"en": ["red", "green", "blue", "square", "bar"], "de": ["rot", "grün", "blau", "Quadrat", "Balken"]}
SPLITS = ["train"] * 20 + ["val"] * 5 + ["test"] * 5
PRELOADED = [
    "pipeline.datasets.sources.custom",
    "pipeline.datasets.tokenize",
    "pipeline.images.backbone",
    "pipeline.images.extract",
    "pipeline.images.find",
    "pipeline.images.imported",
    "pipeline.evaluation.evaluate",
    "search.build_index",
    "search.query",
    "pipeline.datasets.download",
    "pipeline.datasets.unpack",
    "pipeline.translation.translate",
    "pipeline.words.make",
]
TARGET = "results/own.csv"
INDEX = "work/demo/shapes/experiments/parallel-embn/seed0/index"
CONFIG: dict[str, Any] = merge(
    SMALL,
    {
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
    },
)


def write_own_data(folder: Path) -> None:
    """Thirty images of random features, with a split and a caption each in English and in German."""
    draw = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    images = [f"image{number:02d}" for number in range(len(SPLITS))]
    for image in images:
        Image.fromarray(draw.integers(0, 255, (40, 50, 3), np.uint8)).save(folder / "images" / f"{image}.png")
    with open(folder / "captions.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["image", "split", "language", "caption"])
        for image, split in zip(images, SPLITS, strict=True):
            for language, words in WORDS.items():
                writer.writerow([f"{image}.png", split, language, " ".join(draw.permutation(words)[:3])])
    with h5py.File(folder / "features.h5", "w") as file:
        file["features"] = draw.normal(size=(len(images), 8)).astype(np.float32)
        file.create_dataset("image", data=images, dtype=h5py.string_dtype())
        file.attrs["backbone"] = "ours"
    with open(folder / "split.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("image", "split"), *zip(images, SPLITS, strict=True)]
        )


def finished_project(folder: Path) -> Path:
    """The finished project that BAD_INPUTS_BASE names, or else one made in a new folder."""
    given = os.environ.get("BAD_INPUTS_BASE")
    return Path(given) if given else make_project(folder)


def make_project(folder: Path) -> Path:
    """The project with its table and an index made by Snakemake, in a new folder."""
    folder.mkdir(parents=True)
    project = copy_of_project(folder)
    write_own_data(folder / "mine")
    (folder / "small.yaml").write_text(yaml.safe_dump(CONFIG))
    project.make(TARGET, INDEX)
    return folder


def protected_digests(folder: Path) -> dict[str, str]:
    """Digest of every table, model, feature store and cache: files that no mistake may change."""
    found = sorted(path for part in ("results", "work/demo", "mine") for path in (folder / part).rglob("*"))
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file()
    }


def preload() -> None:
    """Import what the commands import, and parse the code for its digests, once for all forks."""
    for name in PRELOADED:
        importlib.import_module(name)
    for stage in STAGES:
        code.digest(stage, ())
    warm.snakemake()


def snakemake(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Exit:
    """`snakemake ARGUMENTS` in a folder."""
    done = subprocess.run(
        [warm.snakemake(), *arguments],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return Exit(done.returncode, done.stdout)


def stage(
    folder: Path,
    *arguments: str,
    limits: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Exit:
    """`python -m pipeline ARGUMENTS` or `python -m search ARGUMENTS` in a folder.

    limits: bytes that it may use in addition to what it uses now, by resource, such as FSIZE or AS.
    """
    program = "search" if arguments[0] in SEARCH_STAGES else "pipeline"
    main = importlib.import_module(f"{program}.__main__").main

    def limited() -> object:
        os.environ.update(environment or {})
        for name, more in (limits or {}).items():
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            most = more + (used if name == "AS" else 0)
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        return main()

    return exit_of(limited, folder, [program, *arguments])
