"""Seconds of a whole training: `python -m pipeline pretrain` and `train` as the rules call them.

    python -m benchmarks.whole_training [--images 29000] [--epochs 20] [--precision tf32]

The paper's settings of an experiment on Multi30K, on captions drawn as long and as varied as its own
(benchmarks/training.py). Timed is each command from its start to its end: imports, reading, all epochs with
validation, checkpoints, the model's file. All files are in a folder of its own under work/.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks.training import MULTI30K, captions_like_multi30k
from pipeline.common.progress import duration
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.images.store import write_features
from pipeline.settings import load, pretraining_settings, train_settings
from pipeline.words.vocabulary import Vocabulary, write_vocabulary

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--experiment", default="mule-full")
    parser.add_argument("--images", type=int, default=29_000, help="to train on")
    parser.add_argument("--validation", type=int, default=1_014, help="images to validate on")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=450, help="images in a batch")
    parser.add_argument("--hidden", type=int, default=1024, help="units of the recurrent layer")
    parser.add_argument("--precision", default="float32", help="float32, or on a GPU tf32")
    parser.add_argument("--threads", type=int, default=4)
    arguments = parser.parse_args()
    (ROOT / "work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=ROOT / "work") as name:
        train(arguments, Path(name))


def train(arguments: argparse.Namespace, folder: Path) -> None:
    """Write the data, run both commands, print what each took."""
    paper = load({"scale": "paper"}, ROOT / "config")
    values = train_settings(paper, "multi30k", arguments.experiment, 0).as_values()
    before = pretraining_settings(paper, "multi30k", arguments.experiment, 0).as_values()
    training = {"batch_images": arguments.batch, "threads": arguments.threads}
    before["training"] |= training
    values["training"] |= training | {"epochs": arguments.epochs, "precision": arguments.precision}
    values["model"] |= {"hidden_size": arguments.hidden}
    languages = values["languages"]
    # Test images are not used; training rejects a data set that could not be evaluated.
    images = {"train": arguments.images, "val": arguments.validation, "test": arguments.validation}
    write_data(folder, languages, images, values["features"])
    files = ["--sentences", *(str(folder / f"{language}.csv") for language in languages)]
    files += ["--words", *(str(folder / f"{language}.h5") for language in languages)]
    files += ["--gpus", str(int(torch.cuda.is_available()))]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU"
    print(f"{arguments.experiment} on {device}, {arguments.precision}: {arguments.images} images")
    trained = 0.0
    pretrained = str(folder / "pretrained.pt")
    if paper.experiments_on("multi30k")[arguments.experiment].pretraining:
        trained += measure("pretrain", before, [*files, "--output", pretrained], folder)
        files += ["--pretrained", pretrained]
    files += ["--features", str(folder / "features.h5"), "--curves", str(folder / "curves.csv")]
    trained += measure("train", values, [*files, "--output", str(folder / "model.pt")], folder)
    curves = pd.read_csv(folder / "curves.csv")
    print(f"{arguments.epochs} epochs, {duration(trained)} in all; loss {curves['loss'].iloc[-1]:.4f}")


def measure(stage: str, settings: dict[str, object], options: list[str], folder: Path) -> float:
    """Wall seconds of one command; what it logs passes through."""
    command = [sys.executable, "-m", "pipeline", stage, "--settings", json.dumps(settings), *options]
    start = time.perf_counter()
    subprocess.run([*command, "--checkpoint", str(folder / f"{stage}-checkpoint.pt")], check=True, cwd=ROOT)
    seconds = time.perf_counter() - start
    print(f"{stage}: {seconds:.1f} s", flush=True)
    return seconds


def write_data(
    folder: Path, languages: list[str], images: dict[str, int], attributes: dict[str, object]
) -> None:
    """Sentence tables, vocabularies with random vectors, and random features that say the `attributes`."""
    draw = np.random.default_rng(0)
    rows: dict[str, list[tuple[str, ...]]] = {language: [] for language in languages}
    names: list[str] = []
    for split, count in images.items():
        corpus = captions_like_multi30k(count, languages)
        names += (f"{split}{image}" for image in corpus.images)
        for language, part in corpus.languages.items():
            for ids, length, image in zip(part.ids.tolist(), part.lengths.tolist(), part.image, strict=True):
                text = " ".join(f"w{word}" for word in ids[:length])
                rows[language].append((f"{split}{image}", split, language, text, "human", ""))
    for language in languages:
        table = caption_table(rows[language])
        write_sentences(table.assign(tokens=table["caption"]), folder / f"{language}.csv")
        words = ["", *(f"w{word}" for word in range(1, MULTI30K[language].words + 1))]
        vectors = 0.1 * draw.standard_normal((len(words), 300), dtype=np.float32)
        vectors[0] = 0
        write_vocabulary(Vocabulary(language, words, vectors), {}, folder / f"{language}.h5")
    features = draw.random((len(names), 2048), dtype=np.float32)
    write_features(folder / "features.h5", names, features, attributes)


if __name__ == "__main__":
    main()
