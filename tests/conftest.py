"""Small real inputs that several tests train on."""

import os

# Two processes of tests share two cores: more threads would only wait, by default in a busy loop. Both are
# set before anything imports PyTorch, which reads them once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings

from pipeline.datasets.table import caption_table, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.images.settings import FeatureSettings
from pipeline.images.store import write_features
from pipeline.models.settings import (
    ClassifierWeight,
    Matching,
    Model,
    Neighborhood,
    Triplets,
    WordRegularizer,
)
from pipeline.training.data import Inputs
from pipeline.training.settings import TrainingSchedule, TrainSettings
from pipeline.words.make import build_vocabulary
from pipeline.words.settings import WordSettings

# Their failed assertions show the values that differ.
pytest.register_assert_rewrite("recorded", "reference")

# A shell that starts the tests in the background makes them, and all that they start, ignore SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The duration of an example means nothing on a busy machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


WORDS = {
    "en": ["dog", "cat", "car", "tree", "house", "bird", "boat", "horse"],
    "de": ["Hund", "Katze", "Auto", "Baum", "Haus", "Vogel", "Boot", "Pferd"],
}
IMAGES = {"train": 48, "val": 12, "test": 12}


@pytest.fixture
def things() -> dict[str, list[str]]:
    """The names of the things in each language."""
    return WORDS


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Images of three out of eight things, their features, and captions that name two of the three."""
    folder = tmp_path_factory.mktemp("inputs")
    generator = np.random.default_rng(0)
    images, features, rows = [], [], []
    for split, count in IMAGES.items():
        for number in range(count):
            image = f"{split}{number:02d}"
            things = generator.choice(8, 3, replace=False)
            images.append(image)
            features.append(np.isin(np.arange(8), things) + 0.05 * generator.normal(size=8))
            for language, each in (("en", 2), ("de", 1)):
                for _ in range(each):
                    caption = " ".join(WORDS[language][thing] for thing in generator.permutation(things)[:2])
                    rows.append((image, split, language, caption, "human", ""))
    table = caption_table(rows)
    words, sentences = [], []
    for language in WORDS:
        path = folder / f"{language}.csv"
        write_sentences(with_tokens(table[table["language"] == language], language), path)
        output = folder / f"{language}.h5"
        small = WordSettings(dimension=8, tokens=20_000, subword_buckets=100)
        build_vocabulary(language, path, small, output)
        words.append(output)
        sentences.append(path)
    write_features(folder / "features.h5", images, np.array(features), {"backbone": "eight things"})
    return Inputs(sentences, [], words, folder / "features.h5")


@pytest.fixture
def experiment() -> Iterator[dict[str, Any]]:
    """Settings of a small MULE with NC and LC; other settings are the paper's.

    On a GPU with deterministic algorithms, without which equal trainings differ in their last bits.
    """
    yield TrainSettings(
        scale="demo",
        dataset="things",
        experiment="mule-nc-lc",
        seed=0,
        languages=["en", "de"],
        captions="human",
        caption_origins={},
        groups=[],
        max_caption_length=10,
        features=FeatureSettings(backbone="eight things"),
        model=Model(
            universal_dim=12,
            multimodal_dim=10,
            recurrent_init="pytorch",
            hidden_size=16,
            image_hidden_size=16,
            dropout=0.2,
        ),
        triplets=Triplets(margin=0.2, num_hard_negatives=5),
        matching=Matching(),
        neighborhood=Neighborhood(),
        classifier=ClassifierWeight(),
        word_regularizer=WordRegularizer(),
        training=TrainingSchedule(
            epochs=40,
            epoch_unit="images",
            learning_rate=0.01,
            learning_rate_decay=0.99,
            batch_images=12,
            threads=1,
            deterministic=torch.cuda.is_available(),
        ),
    ).model_dump()
    torch.use_deterministic_algorithms(False)
