"""The project's runs, recorded in float64, and their comparison with the plain reading (tests/reference).

Recorded, and used by the reading, is what is random: the batches, and the weights that training begins with.
There is no dropout.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from reference.batches import Batch
from reference.captions import (
    Row,
    Split,
    original_captions,
    read_features,
    read_rows,
    read_vocabulary,
    split_of,
    training_captions,
)
from reference.evaluation import Ranks, chance_recalls, model_ranks, recalls
from reference.layers import Weights
from reference.training import Training
from torch import Tensor, nn
from twelve_things import LONGEST, write_files

from pipeline.evaluation import inputs as retrieval_inputs
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.settings import Preparation
from pipeline.images.settings import FeatureSettings
from pipeline.images.store import read_features as read_feature_store
from pipeline.models.settings import Matching, Model, Triplets, WordRegularizer
from pipeline.training import assign, batches, lessons, pretrain, train
from pipeline.training.batches import Sampler
from pipeline.training.data import Inputs
from pipeline.training.loop import train_steps
from pipeline.training.settings import TrainingSchedule, TrainSettings
from pipeline.training.tasks import TaskSampler
from pipeline.words.vocabulary import read_vocabulary as read_vocabulary_file

CLOSE = 1e-9
SEEDS = (0, pytest.param(1, marks=pytest.mark.slow))

Settings = dict[str, Any]

# What is not named is the paper's.
SETTINGS: dict[str, Any] = TrainSettings(
    scale="demo",
    dataset="things",
    experiment="a model",
    seed=0,
    languages=["en", "de", "fr"],
    captions="human",
    caption_origins={"fr": "google"},
    groups=[],
    max_caption_length=LONGEST,
    features=FeatureSettings(backbone="twelve things"),
    model=Model(
        universal_dim=7,
        multimodal_dim=6,
        recurrent_init="pytorch",
        hidden_size=5,
        image_hidden_size=24,
        dropout=0.0,
    ),
    triplets=Triplets(margin=0.2),
    matching=Matching(),
    word_regularizer=WordRegularizer(weight=0.01),
    training=TrainingSchedule(
        epochs=3, learning_rate=0.01, learning_rate_decay=0.7, batch_images=13, threads=1
    ),
).model_dump()
NC = {"neighborhood": {"weight": 0.8}}
LC = {"classifier": {"weight": 0.3, "weight_applied": "once", "mean_over": "sentences"}}


def with_changes(changes: Settings, seed: int, settings: Settings | None = None) -> Settings:
    """Settings (by default `SETTINGS`) with some of them changed; a block is changed, not replaced."""
    result = {**(settings or SETTINGS), "seed": seed}
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = {**result[key], **value} if both else value
    return result


def write_inputs(folder: Path) -> Inputs:
    """Write the twelve things' captions, translations, words and features."""
    write_files(folder)
    paths = {kind: sorted(folder.glob(f"{kind}-*.csv")) for kind in ("own", "translated")}
    words = [folder / f"{language}.h5" for language in SETTINGS["languages"]]
    return Inputs(paths["own"], paths["translated"], words, folder / "features.h5")


@dataclass
class Recorded:
    """A run: its first and its last weights, and its batches by step.

    batches: each a `reference.batches.Batch`, or rows if each step has one task. steps: per epoch.
    """

    initial: Weights
    steps: int
    last: Weights = field(default_factory=dict)
    batches: dict[int, Any] = field(default_factory=dict)

    @property
    def epochs(self) -> list[list[Any]]:
        """The batches by epoch."""
        batches = [self.batches[step] for step in sorted(self.batches)]
        return [batches[first : first + self.steps] for first in range(0, len(batches), self.steps)]


@pytest.fixture(name="runs")
def recorded_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Recorded]]:
    """Every run of the test, recorded, in float64."""
    recorded: list[Recorded] = []

    def train_recorded(job: Any, model: nn.Module, *args: Any, **schedule: Any) -> Any:
        draw_biases(model)
        recorded.append(Recorded(weights_of(model), schedule["validate_every"]))
        with pytest.MonkeyPatch.context() as patch:
            for sampler in (Sampler, TaskSampler):
                patch.setattr(sampler, "batch", recording(sampler.batch, recorded[-1]))
            state = train_steps(job, model, *args, **schedule)
        recorded[-1].last = weights_of(model)
        return state

    def exact_vocabulary(path: Path) -> Any:
        vocabulary = read_vocabulary_file(path)
        return replace(vocabulary, vectors=vocabulary.vectors.astype(np.float64))

    for stage in (assign, lessons, pretrain, train):
        monkeypatch.setattr(stage, "train_steps", train_recorded)
    monkeypatch.setattr(retrieval_inputs, "read_vocabulary", exact_vocabulary)
    monkeypatch.setattr(
        retrieval_inputs, "read_features", lambda *args: read_feature_store(*args).astype(np.float64)
    )
    torch.set_default_dtype(torch.float64)
    yield recorded
    torch.set_default_dtype(torch.float32)


def recording(batch: Callable[[Any, int], Any], recorded: Recorded) -> Callable[[Any, int], Any]:
    """A sampler's `batch` that writes down what it draws."""

    def recorded_batch(sampler: Any, step: int) -> Any:
        drawn = batch(sampler, step)
        recorded.batches[step] = as_batch(drawn) if isinstance(drawn, batches.Batch) else drawn.copy()
        return drawn

    return recorded_batch


def draw_biases(model: nn.Module) -> None:
    """Set biases that begin at zero: u of a caption without known words would have no direction.

    Biases of the entries' scores stay: few entries would take all words.
    """
    generator = torch.Generator().manual_seed(0)
    for name, value in model.named_parameters():
        if name.endswith("bias") and name != "scores.bias" and not value.any():
            nn.init.normal_(value, std=0.2, generator=generator)


def weights_of(model: nn.Module) -> Weights:
    return with_names_of_reading({name: value.clone() for name, value in model.state_dict().items()})


def with_names_of_reading(weights: Weights) -> Weights:
    """The reading has LIWE's words as `spelled`."""
    renamed = r"^universal\.(alphabet|characters|layers|spelling)"
    return {re.sub(renamed, r"spelled.\1", name): value for name, value in weights.items()}


def as_batch(drawn: batches.Batch) -> Batch:
    rows, slots = (
        {language: places.tolist() for language, places in of.items()} for of in (drawn.rows, drawn.slots)
    )
    return Batch(drawn.images.tolist(), rows, slots)


@dataclass
class Result:
    """What the project wrote: curves, model file, evaluation, and (direction, image, rank) by language."""

    curves: list[dict[str, float]]
    model: dict[str, Any]
    evaluation: dict[str, Any]
    ranks: dict[str, list[tuple[Any, ...]]]


def evaluate_model(files: Inputs, languages: list[str], folder: Path) -> Result:
    """Evaluate the model that a training wrote into a folder, and read all that there is now."""
    assert files.features
    words = [path for path in files.words if path.stem in languages]
    model, output, ranks = folder / "model.pt", folder / "test.json", folder / "ranks.csv.gz"
    evaluate(model, files.features, words, files.sentences, Preparation(), output, ranks)
    saved = torch.load(model, weights_only=True)
    return Result(
        pd.read_csv(folder / "curves.csv").to_dict("records"),
        saved | {"weights": with_names_of_reading(saved["weights"])},
        json.loads(output.read_text()),
        read_ranks(ranks),
    )


def read_ranks(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with gzip.open(path) as file:
        table = pd.read_csv(file)
    return {
        str(language): list(rows[["direction", "image", "rank"]].itertuples(index=False, name=None))
        for language, rows in table.groupby("language")
    }


# --- The reading of the same files


@dataclass
class Splits:
    """The splits as the reading has them; the one to pretrain on needs no features and keeps all images.

    longest: tokens of each language's longest training caption, at most as many as are read.
    """

    paired: Split
    train: Split
    val: Split
    test: Split
    words: dict[str, dict[str, int]]
    vectors: dict[str, Tensor]
    longest: dict[str, int]


def captions_by_language(files: Inputs, settings: Settings) -> dict[str, list[Row]]:
    """Original captions."""
    rows = read_rows(files.sentences)
    return {
        code: original_captions(rows, code, settings["caption_origins"].get(code, "human"))
        for code in settings["languages"]
    }


def read_splits(files: Inputs, settings: Settings, translated: Sequence[Row] | None = None) -> Splits:
    """The files' splits. translated: translations to train on, by default all that the files have."""
    assert files.features
    languages, original = settings["languages"], captions_by_language(files, settings)
    if translated is None:
        translated = read_rows(files.translations)
    to_train_on = {
        code: training_captions(
            original[code], [row for row in translated if row["language"] == code], settings["captions"]
        )
        for code in languages
    }
    vocabularies = {path.stem: read_vocabulary(path) for path in files.words}
    words = {code: vocabularies[code][0] for code in languages}
    features, longest = read_features(files.features), settings["max_caption_length"]
    paired = split_of(to_train_on, words, None, "train", longest)
    train, val, test = (
        split_of(to_train_on if split == "train" else original, words, features, split, longest)
        for split in ("train", "val", "test")
    )
    counts = {
        code: max(len(row["tokens"].split()) for row in rows if row["split"] == "train")
        for code, rows in to_train_on.items()
    }
    lengths = {code: min(count, longest or count) for code, count in counts.items()}
    vectors = {code: vocabularies[code][1] for code in languages}
    return Splits(paired, train, val, test, words, vectors, lengths)


def assert_same_weights(weights: Weights, expected: Weights) -> None:
    """Check that weights have the same names and numbers, except E0, which the reading keeps elsewhere."""
    names, others = ({name for name in of if not name.endswith(".initial")} for of in (weights, expected))
    assert names == others
    assert {name: weights[name].shape for name in names} == {name: expected[name].shape for name in names}
    apart = {name: max([0.0, *(weights[name] - expected[name]).abs().flatten().tolist()]) for name in names}
    assert {name: difference for name, difference in apart.items() if not difference < CLOSE} == {}


def assert_same_curves(curves: Sequence[dict[str, float]], expected: Sequence[dict[str, float]]) -> None:
    for row, by_reading in zip(curves, expected, strict=True):
        assert row == pytest.approx(by_reading, rel=CLOSE, abs=CLOSE)


def assert_agreement(
    run: Recorded,
    result: Result,
    expected: Training,
    splits: Splits,
    settings: Settings,
    ranks_of: Callable[..., Ranks] = model_ranks,
) -> None:
    """The run's last weights and the model's, curves, and the model's evaluation on the test split.

    Weights of losses are for training only; a model file has none.
    """
    assert_same_weights(run.last, expected.last)
    without_losses = {name: of for name, of in expected.best.items() if not name.startswith("losses.")}
    assert_same_weights(result.model["weights"], without_losses)
    assert_same_curves(result.curves, expected.curves)
    curve = expected.curves[expected.epoch - 1]
    assert result.evaluation["epoch"] == result.model["epoch"] == expected.epoch
    for language in settings["languages"]:
        validation = result.evaluation["validation"][language]
        assert validation == pytest.approx(curve[f"val_mR_{language}"], abs=1e-9)
        ranks = ranks_of(expected.best, settings, splits.test, language)
        assert_same_ranks(result.evaluation, result.ranks, splits.test, language, ranks)


def assert_same_ranks(
    evaluation: dict[str, Any],
    ranks: dict[str, list[tuple[Any, ...]]],
    test: Split,
    language: str,
    expected: Ranks,
) -> None:
    """A language's ranks, recalls and counts."""
    to_sentence, to_image = expected
    sentences = test.sentences[language]
    captioned = sorted({image for image, _ in sentences})
    assert ranks[language] == [
        *(("i2s", test.images[image], rank) for image, rank in zip(captioned, to_sentence, strict=True)),
        *(("s2i", test.images[image], rank) for (image, _), rank in zip(sentences, to_image, strict=True)),
    ]
    assert evaluation["test"][language] == {
        **{key: pytest.approx(value) for key, value in recalls(expected).items()},
        "chance": pytest.approx(chance_recalls(test, language)),
        "images": len(captioned),
        "sentences": len(sentences),
        "sentences_without_known_words": sum(ids == [0] for _, ids in sentences),
    }
