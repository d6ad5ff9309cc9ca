"""What a stage costs before it works: seconds of `--help`, of importing its modules, of the smallest job.

    python -m benchmarks.startup [--repeat 3]

The least of some repeats, each in a process of its own: wall and processor seconds, and which of the heavy
packages the stage's modules import. The smallest jobs are one epoch of training on 8 images with the demo's
model, and its evaluation.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pipeline.datasets.table import caption_table, write_sentences
from pipeline.images.store import write_features
from pipeline.settings import load, train_settings
from pipeline.stages import STAGES
from pipeline.words.vocabulary import Vocabulary, write_vocabulary

HEAVY = ("torch", "torch._dynamo", "torchvision", "timm", "transformers", "pandas")
IMPORT = f"""
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
print(*(name for name in {HEAVY} if name in sys.modules))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    stage = [sys.executable, "-m", "pipeline"]
    print(f"{'':24}  wall   CPU  (s, least of {repeat})")
    show("only python", [sys.executable, "-c", "pass"], repeat)
    show("--help", [*stage, "--help"], repeat)
    named = ("draw-demo", "translate", "train", "evaluate")
    helps = {name: measure([*stage, name, "--help"], 1)[:2] for name in named}
    slowest = max(helps, key=lambda name: helps[name])
    show(f"{slowest} --help", [*stage, slowest, "--help"], repeat)
    for name, of in STAGES.items():
        show(f"import {name}", [sys.executable, "-c", IMPORT, of.module], repeat, with_output=True)
    with tempfile.TemporaryDirectory() as name:
        train, evaluate = smallest(Path(name))
        show("train, smallest", [*stage, *train], repeat)
        show("evaluate, smallest", [*stage, *evaluate], repeat)


def show(what: str, command: list[str], repeat: int, with_output: bool = False) -> None:
    """Print the least wall and processor seconds of a command, and what it printed."""
    wall, processor, output = measure(command, repeat)
    print(f"{what:24} {wall:5.2f} {processor:5.2f}  {output if with_output else ''}", flush=True)


def measure(command: list[str], repeat: int) -> tuple[float, float, str]:
    """Least wall and least processor seconds of a command, and its output."""
    walls, processors = [], []
    for _ in range(repeat):
        wall, before = time.perf_counter(), os.times()
        done = subprocess.run(command, capture_output=True, text=True)
        after = os.times()
        walls.append(time.perf_counter() - wall)
        processors.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
        if done.returncode:
            sys.exit(done.stderr)
    return min(walls), min(processors), done.stdout.strip()


def smallest(folder: Path) -> tuple[list[str], list[str]]:
    """Arguments of `train` and `evaluate` for 8 images with two captions each, at the demo's settings."""
    rows = [
        (f"{split}{number}", split, "en", text, "human", "")
        for split in ("train", "val", "test")
        for number in range(8)
        for text in ("a dog", "a cat")
    ]
    table = caption_table(rows)
    images = list(table["image"].unique())
    settings = load({"scale": "demo"}, Path("config"))
    values = train_settings(settings, next(iter(settings.datasets)), "embn-en", 0).as_values()
    values["training"] |= {"epochs": 1, "threads": 1}
    draw = np.random.default_rng(0)
    write_sentences(table.assign(tokens=table["caption"]), folder / "en.csv")
    vectors = draw.normal(size=(4, 300)).astype(np.float32)
    vectors[0] = 0
    write_vocabulary(Vocabulary("en", ["", "a", "cat", "dog"], vectors), {}, folder / "en.h5")
    features = draw.normal(size=(len(images), values["features"]["dimension"])).astype(np.float32)
    write_features(folder / "features.h5", images, features, values["features"])
    files = ["--sentences", "en.csv", "--words", "en.h5", "--features", "features.h5"]
    common = [part if part.startswith("--") else str(folder / part) for part in files]
    model, ranks = str(folder / "model.pt"), str(folder / "ranks.csv.gz")
    train = ["train", "--settings", json.dumps(values), *common, "--output", model]
    train += ["--checkpoint", str(folder / "checkpoint"), "--curves", str(folder / "curves.csv")]
    evaluate = ["evaluate", "--settings", '{"threads": 1}', *common, "--model", model, "--ranks", ranks]
    return train, [*evaluate, "--output", str(folder / "test.json")]


if __name__ == "__main__":
    main()
