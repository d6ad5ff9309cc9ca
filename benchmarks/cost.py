"""Cost of MULE's tables at scale paper from counted operations: an estimate (docs/full-size.md).

    python -m benchmarks.cost

Extraction is counted by PyTorch on its meta device, training by the products of a step at the paper's sizes.
A device is assumed to reach a share of its peak; nothing is timed. Left out are pretraining (below 1% of a
training), validation and evaluation.
"""

import argparse
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import timm
import torch
from torch.utils.flop_counter import FlopCounterMode

from pipeline import settings as configuration
from pipeline.images.settings import Images
from pipeline.settings import Configuration, DatasetExperiment
from pipeline.settings.experiment import LearningBlocks
from pipeline.tables.cells import cells
from pipeline.training.settings import Training

# Human training captions of 29,000 and 121,287 images; in Japanese and Chinese approximate.
CAPTIONS = {
    "multi30k": {"en": 145_000, "de": 145_000, "fr": 29_000, "cs": 29_000},
    "mscoco": {"en": 606_435, "ja": 121_700, "zh": 20_000},
}
IMAGES = {"multi30k": 31_014, "mscoco": 123_287}  # of all splits
GROUPED = {"ja": 1 / 3, "zh": 1 / 3}  # share of a batch's images that have the language, with human captions
WORDS = 29_300 / 2_700  # of a Multi30K sentence, mean over batches of 450 images (benchmarks/README.md)
PEAK = {"float32": 19.5e12, "tf32": 156e12, "bfloat16": 312e12}  # NVIDIA A100's data sheet, FLOP/s
REACHED = 0.3  # share of the peak that is assumed


def main() -> None:
    """Print the tables of docs/full-size.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", default="float32", choices=sorted(PEAK), help="of training")
    rate = PEAK[parser.parse_args().precision] * REACHED
    settings = configuration.load({"scale": "paper"}, Path(__file__).parents[1] / "config")
    print("| network | crops | GFLOP per image | images | PFLOP | GPU hours in bfloat16 |")
    print("|---|---|---:|---:|---:|---:|")
    for name, images in settings.images.feature_sets().items():
        used = IMAGES if name is None else {"multi30k": IMAGES["multi30k"]}
        each, count = image_flops(images), sum(used.values())
        total = each * count
        hours = total / (PEAK["bfloat16"] * REACHED) / 3600
        print(
            f"| {images.backbone} | {images.crops} of {images.crop} | {each / 1e9:,.0f} | "
            f"{count:,} | {total / 1e15:,.1f} | {hours:.3f} |"
        )
    print("\n| table | trainings | PFLOP | GPU hours |\n|---|---:|---:|---:|")
    every: dict[tuple[str, str], float] = {}
    tables = {
        of_scale.table: name
        for name, of_scale in settings.tables.items()
        if of_scale.paper == "mule" and of_scale.table
    }
    for _, table in sorted(tables.items()):
        trained = trainings(settings, table)
        every |= trained
        _print_row(table, trained, rate)
    _print_row("all, each model once", every, rate)


def _print_row(name: str, trained: Mapping[tuple[str, str], float], rate: float) -> None:
    total = sum(trained.values())
    print(f"| {name} | {len(trained)} | {total / 1e15:,.0f} | {total / rate / 3600:,.1f} |")


def image_flops(images: Images) -> float:
    """Floating-point operations of one image with all its crops."""
    with torch.device("meta"):
        network = timm.create_model(images.backbone, pretrained=False).eval()
        pixels = torch.empty(1, 3, images.crop, images.crop)
        with torch.no_grad(), FlopCounterMode(display=False) as counted:
            network(pixels)
    return float(counted.get_total_flops() * images.crops)


def trainings(settings: Configuration, table: str) -> dict[tuple[str, str], float]:
    """Operations of each training that a table needs, by data set and experiment; one seed."""
    named = {(cell.dataset, cell.experiment) for cell in cells(configuration.table_settings(settings, table))}
    return {(dataset, name): training_flops(settings, dataset, name) for dataset, name in sorted(named)}


def training_flops(settings: Configuration, dataset: str, name: str) -> float:
    """Operations of one training: steps x operations of a step, forward and twice as many backward."""
    experiment = settings.experiments_on(dataset)[name]
    own = settings.blocks_of(name, experiment)
    training, captions = own.training, sentences(dataset, experiment)
    steps = max(captions.values()) // training.batch_images * training.epochs
    return steps * step_flops(own, batch(dataset, experiment, training), experiment)


def sentences(dataset: str, experiment: DatasetExperiment) -> dict[str, int]:
    """Training sentences of each language, translations included."""
    human = CAPTIONS[dataset]
    of = {
        "human": dict(human),
        "mt": {code: human["en"] for code in human},
        "human+mt": {code: human[code] + human["en"] for code in human} | {"en": sum(human.values())},
    }[experiment.captions]
    return {code: of[code] for code in experiment.languages}


def batch(dataset: str, experiment: DatasetExperiment, training: Training) -> dict[str, float]:
    """Sentences of each language in a batch."""
    images, most = training.batch_images, training.sentences_per_image
    if experiment.captions != "human":
        return dict.fromkeys(experiment.languages, float(images * most))
    several = len(experiment.languages) > 1
    return {
        code: images
        * min(most, 1 if code in ("fr", "cs", "zh") else 5)
        * (GROUPED.get(code, 1) if several else 1)
        for code in experiment.languages
    }


def step_flops(own: LearningBlocks, counts: Mapping[str, float], experiment: DatasetExperiment) -> float:
    """Operations of a step: words, sentences, images, and a matrix of cosines for each loss term."""
    model, total = own.model, sum(counts.values())
    size, hidden, out = model.universal_dim, model.hidden_size, model.multimodal_dim
    images = own.training.batch_images
    if model.encoder == "vse":
        words, each = 3 * hidden * (300 + hidden), 0
        picture, out = 4096 * hidden * 2, hidden
    else:
        cell = {"lstm": 4, "gru": 3, "gru_reset_before": 3}.get(model.recurrent, 0)
        words = (300 * size if experiment.vectors != "bert" else 0) + cell * hidden * (size + hidden)
        each = (hidden if cell else size) * out + (768 * size if experiment.vectors == "bert" else 0)
        picture = model.image_hidden_size * (2 * 2048 + 3 * out)
    cosines = sum(count * (images + count) for count in counts.values()) * out
    if experiment.neighborhood:
        cosines += (out + size) * sum(first * second for first, second in combinations(counts.values(), 2))
    return 2 * (3 * (total * (WORDS * words + each) + cosines) + images * picture)


if __name__ == "__main__":
    main()
