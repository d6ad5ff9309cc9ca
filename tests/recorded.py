"""The project's runs, recorded in float64, and what is compared of them with a second reading of the papers.

Recorded, and used by the reading, are what is random: the drawn batches, the weights that training begins
with, and the units that dropout keeps.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reading
import torch
from torch import Tensor, nn
from twelve_things import LONGEST, write_files

from pipeline.evaluation import inputs as retrieval_inputs
from pipeline.evaluation.evaluate import evaluate
from pipeline.training.batches import Batch
from pipeline.training.loop import Run
from pipeline.training.train import Inputs

CLOSE = 1e-9
SEEDS = (0, pytest.param(1, marks=pytest.mark.extended))

Settings = dict[str, Any]

SETTINGS: dict[str, Any] = {
    "scale": "demo",
    "dataset": "things",
    "experiment": "a model",
    "languages": ["en", "de", "fr"],
    "captions": "human",
    "caption_origins": {"fr": "google"},
    "groups": [],
    "max_caption_length": LONGEST,
    "branches": "shared",
    "features": {"backbone": "twelve things"},
    "model": {
        "encoder": "embn",
        "word_vectors": "pretrained",
        "similarity": "cosine",
        "universal": 7,
        "universal_layers": "separate",
        "multimodal": 6,
        "recurrent": "lstm",
        "recurrent_init": "pytorch",
        "hidden": 5,
        "image_hidden": 24,
        "dropout": 0.3,
        "batch_norm_momentum": 0.1,
        "universal_mean": "words",
    },
    "triplets": {"margin": 0.2, "num_hard_negatives": 10, "distance": "euclidean"},
    "matching": {"image": 1.5, "sentence": 1.0, "sentence_only": 0.05},
    "ranking": None,
    "neighborhood": None,
    "classifier": None,
    "words": {"regularization": 0.01, "regularize_toward": "initial"},
    "training": {
        "epochs": 3,
        "epoch_unit": "sentences",
        "learning_rate": 0.01,
        "learning_rate_decay": 0.7,
        "max_grad_norm": None,
        "batch_images": 13,
        "sentences_per_image": 2,
        "repeat_captions": False,
        "images_in_batch": "distinct",
        "precision": "float32",
        "threads": 1,
        "deterministic": False,
    },
}
NC = {"neighborhood": {"weight": 0.8}}
LC = {"classifier": {"weight": 0.3, "weight_applied": "once"}}


def laid_over(changes: Settings, seed: int, settings: Settings | None = None) -> Settings:
    """Settings, those of here where none are given, with some changed; a block is changed, not replaced."""
    made = {**(settings or SETTINGS), "seed": seed}
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        made[key] = {**made[key], **value} if both else value
    return made


def written_files(folder: Path) -> Inputs:
    """The twelve things' captions, translations, words and features."""
    write_files(folder)
    paths = {kind: sorted(folder.glob(f"{kind}-*.csv")) for kind in ("own", "translated")}
    words = [folder / f"{language}.h5" for language in SETTINGS["languages"]]
    return Inputs(paths["own"], paths["translated"], words, folder / "features.h5")


@dataclass
class Recorded:
    """A run: the weights before and after it, its batches by epoch, and of each step what dropout kept.

    epochs: of `reading.Batch`, or of rows where a step is of one task.
    drawn: random numbers that the dropout of a step makes its choice by.
    """

    begun: reading.Weights = field(default_factory=dict)
    ended: reading.Weights = field(default_factory=dict)
    epochs: list[list[Any]] = field(default_factory=list)
    masks: list[Tensor | None] = field(default_factory=list)
    drawn: list[tuple[float, ...]] = field(default_factory=list)


@pytest.fixture(name="runs")
def recorded_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Recorded]]:
    """Every run from here on, recorded, in float64."""
    recorded: list[Recorded] = []
    finish = Run.finish
    read_features, read_vocabulary = retrieval_inputs.read_features, retrieval_inputs.read_vocabulary

    def recorded_finish(run: Run) -> None:
        draw_biases(run.model)
        recorded.append(Recorded(begun=copied(run.model)))
        keep_masks(run.model, recorded[-1])
        run.sampler.epoch = noted(run.sampler.epoch, recorded[-1])  # type: ignore[method-assign]
        finish(run)
        recorded[-1].ended = copied(run.model)

    def exact_vocabulary(path: Path) -> Any:
        found = read_vocabulary(path)
        return replace(found, vectors=found.vectors.astype(np.float64))

    monkeypatch.setattr(Run, "finish", recorded_finish)
    monkeypatch.setattr(retrieval_inputs, "read_vocabulary", exact_vocabulary)
    monkeypatch.setattr(
        retrieval_inputs, "read_features", lambda *given: read_features(*given).astype(np.float64)
    )
    torch.set_default_dtype(torch.float64)
    yield recorded
    torch.set_default_dtype(torch.float32)


def noted(epoch: Callable[..., Iterator[Any]], recorded: Recorded) -> Callable[..., Iterator[Any]]:
    """A sampler's epochs, whose batches are written down as they are drawn."""

    def recorded_epoch(number: int, first_step: int = 0) -> Iterator[Any]:
        recorded.epochs.append([])
        for drawn in epoch(number, first_step):
            recorded.epochs[-1].append(as_batch(drawn) if isinstance(drawn, Batch) else drawn.copy())
            recorded.masks.append(None)
            yield drawn

    return recorded_epoch


def draw_biases(model: nn.Module) -> None:
    """Biases do not begin at zero: u of a caption without known words would have no direction.

    But for those of entries' scores: few entries would take all words.
    """
    generator = torch.Generator().manual_seed(0)
    for name, value in model.named_parameters():
        if name.endswith("bias") and name != "scores.bias" and not value.any():
            nn.init.normal_(value, std=0.2, generator=generator)


def copied(model: nn.Module) -> reading.Weights:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def keep_masks(model: nn.Module, recorded: Recorded) -> None:
    """Write down what dropout keeps in each step; where its input is 0 nothing depends on it."""

    def note_numbers(module: nn.Module, given: tuple[Tensor]) -> None:
        if module.training:
            with torch.random.fork_rng(devices=[]):
                recorded.drawn.append(tuple(torch.rand(4).tolist()))

    def note_mask(module: nn.Module, given: tuple[Tensor], found: Tensor) -> None:
        if module.training:
            recorded.masks[-1] = (found != 0).double()

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_pre_hook(note_numbers)
            module.register_forward_hook(note_mask)


def as_batch(drawn: Batch) -> reading.Batch:
    rows, slots = (
        {language: places.tolist() for language, places in of.items()} for of in (drawn.rows, drawn.slots)
    )
    return reading.Batch(drawn.images.tolist(), rows, slots)


@dataclass
class Result:
    """What the project wrote: curves, model file, evaluation, and (direction, image, rank) by language."""

    curves: list[dict[str, float]]
    kept: dict[str, Any]
    evaluation: dict[str, Any]
    ranks: dict[str, list[tuple[Any, ...]]]


def evaluated(files: Inputs, languages: list[str], folder: Path) -> Result:
    """Evaluate the model that a training wrote into a folder, and read all that there is now."""
    assert files.features
    words = [path for path in files.words if path.stem in languages]
    model, output, ranks = folder / "model.pt", folder / "test.json", folder / "ranks.csv.gz"
    evaluate(model, files.features, words, files.sentences, [], {"threads": 1}, output, ranks)
    return Result(
        pd.read_csv(folder / "curves.csv").to_dict("records"),
        torch.load(model, weights_only=True),
        json.loads(output.read_text()),
        ranks_of_file(ranks),
    )


def ranks_of_file(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with gzip.open(path) as file:
        table = pd.read_csv(file)
    return {
        str(language): list(rows[["direction", "image", "rank"]].itertuples(index=False, name=None))
        for language, rows in table.groupby("language")
    }


# --- The reading of the same files


@dataclass
class Read:
    """The splits as the reading has them; the one to pretrain on needs no features and keeps all images."""

    paired: reading.Split
    train: reading.Split
    val: reading.Split
    test: reading.Split
    words: dict[str, dict[str, int]]
    vectors: dict[str, Tensor]


def own_captions(files: Inputs, settings: Settings) -> dict[str, list[reading.Row]]:
    rows = reading.read_rows(files.sentences)
    return {
        code: reading.own_captions(rows, code, settings["caption_origins"].get(code, "human"))
        for code in settings["languages"]
    }


def read(files: Inputs, settings: Settings, translated: Sequence[reading.Row] | None = None) -> Read:
    """The files, and the translations that are learnt where they are not all that the files have."""
    assert files.features
    languages, own = settings["languages"], own_captions(files, settings)
    if translated is None:
        translated = reading.read_rows(files.translations)
    learnt = {
        code: reading.training_captions(
            own[code], [row for row in translated if row["language"] == code], settings["captions"]
        )
        for code in languages
    }
    of_language = {path.stem: reading.read_words(path) for path in files.words}
    words = {code: of_language[code][0] for code in languages}
    features, longest = reading.read_features(files.features), settings["max_caption_length"]
    paired = reading.split_of(learnt, words, None, "train", longest)
    train, val, test = (
        reading.split_of(learnt if split == "train" else own, words, features, split, longest)
        for split in ("train", "val", "test")
    )
    return Read(paired, train, val, test, words, {code: of_language[code][1] for code in languages})


def assert_same(found: reading.Weights, expected: reading.Weights) -> None:
    """The same weights with the same numbers, but for E0, which the reading keeps elsewhere."""
    names, others = ({name for name in of if not name.endswith(".initial")} for of in (found, expected))
    assert names == others
    assert {name: found[name].shape for name in names} == {name: expected[name].shape for name in names}
    apart = {name: max([0.0, *(found[name] - expected[name]).abs().flatten().tolist()]) for name in names}
    assert {name: difference for name, difference in apart.items() if not difference < CLOSE} == {}


def assert_evaluated(
    result: Result,
    expected: reading.Trained,
    found: Read,
    settings: Settings,
    ranks_of: Callable[..., tuple[list[int], list[int]]] = reading.ranks_of,
) -> None:
    """Ranks, recalls and counts on the test split; validation mR of the kept epoch."""
    curve = expected.curves[expected.epoch - 1]
    assert result.evaluation["epoch"] == result.kept["epoch"] == expected.epoch
    for language in settings["languages"]:
        assert result.evaluation["validation"][language] == pytest.approx(
            curve[f"val_mR_{language}"], abs=1e-9
        )
        ranks = ranks_of(expected.kept, settings, found.test, language)
        assert_ranked(result.evaluation, result.ranks, found.test, language, ranks)


def assert_ranked(
    evaluation: dict[str, Any],
    ranks: dict[str, list[tuple[Any, ...]]],
    test: reading.Split,
    language: str,
    expected: tuple[list[int], list[int]],
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
        **{key: pytest.approx(value) for key, value in reading.recalls_of(to_sentence, to_image).items()},
        "chance": pytest.approx(reading.chance_of(test, language)),
        "images": len(captioned),
        "sentences": len(sentences),
        "sentences_without_known_words": sum(ids == [0] for _, ids in sentences),
    }
