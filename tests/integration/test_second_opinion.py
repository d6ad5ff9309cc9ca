"""The project and a second reading of the papers (tests/reading.py) agree, from files to ranks.

Both are float64 here. Recorded from the project's run, and used by the reading, are the drawn batches, the
weights that training begins with, and the units that dropout keeps.
"""

import gzip
import json
from collections.abc import Iterator
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

from pipeline.retrieval import inputs as retrieval_inputs
from pipeline.retrieval.evaluate import evaluate
from pipeline.training import loop
from pipeline.training.batches import Drawn, Sampler
from pipeline.training.loop import Run
from pipeline.training.train import Inputs, pretrain, train

pytestmark = pytest.mark.integration

CLOSE = 1e-9
SEEDS = (0, 1)

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
VSE: dict[str, Any] = {
    "model": {"encoder": "vse", "word_vectors": "scratch", "recurrent": "gru"},
    "training": {"max_grad_norm": 2.0, "sentences_per_image": 1},
    "triplets": None,
    "matching": None,
}
CASES: dict[str, dict[str, Any]] = {
    "EmbN": {"languages": ["de"]},
    "PARALLEL-EmbN": {"branches": "separate"},
    "MULE EmbN": {"captions": "human+mt"},
    "MULE NC": {**NC, "captions": "mt"},
    "MULE LC": LC,
    "MULE LP": {"pretrained": True},
    "MULE full": {**NC, **LC, "pretrained": True, "captions": "human+mt"},
    "MULE full, mean of words": {**NC, **LC, "pretrained": True, "model": {"recurrent": "mean"}},
    "MULE full, cosine distance": {
        **NC,
        **LC,
        "triplets": {"margin": 0.05, "num_hard_negatives": 3, "distance": "cosine"},
        "training": {"epoch_unit": "images", "sentences_per_image": 3},
    },
    "MULE full, as its authors' code": {
        **NC,
        "classifier": {"weight": 0.3, "weight_applied": "twice"},
        "pretrained": True,
        "model": {
            "recurrent": "gru_reset_before",
            "recurrent_init": "tensorflow",
            "batch_norm_momentum": 0.9,
            "universal_mean": "padded",
        },
        "words": {"regularization": 0.1, "regularize_toward": "previous_epoch"},
        "training": {"repeat_captions": True, "images_in_batch": "sampled_by_sentence"},
    },
    "VSE": {**VSE, "languages": ["en"], "ranking": {"margin": 0.2, "hinge": "sum", "caption_caption": 0}},
    "Lessons, bilingual + c2c": {
        **VSE,
        "languages": ["en", "de"],
        "ranking": {"margin": 0.2, "hinge": "max", "caption_caption": 2},
    },
    "PARALLEL-ASYM": {
        **VSE,
        "languages": ["en", "de"],
        "branches": "separate",
        "model": {**VSE["model"], "similarity": "order"},
        "ranking": {"margin": 0.05, "hinge": "sum", "caption_caption": 1},
    },
}


def case(name: str, seed: int) -> dict[str, Any]:
    """The settings of a case, its blocks laid over the common ones."""
    changes = {key: value for key, value in CASES[name].items() if key != "pretrained"}
    made = {**SETTINGS, "seed": seed}
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        made[key] = {**made[key], **value} if both else value
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    paths = {kind: sorted(folder.glob(f"{kind}-*.csv")) for kind in ("own", "translated")}
    words = [folder / f"{language}.h5" for language in SETTINGS["languages"]]
    return Inputs(paths["own"], paths["translated"], words, folder / "features.h5")


# --- The project's run, recorded


@dataclass
class Recorded:
    """A run: the weights before and after it, its batches by epoch, and of each step what dropout kept.

    drawn: random numbers that the dropout of a step makes its choice by.
    """

    begun: reading.Weights = field(default_factory=dict)
    ended: reading.Weights = field(default_factory=dict)
    epochs: list[list[reading.Batch]] = field(default_factory=list)
    masks: list[Tensor | None] = field(default_factory=list)
    drawn: list[tuple[float, ...]] = field(default_factory=list)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Recorded]]:
    """Every run from here on, recorded, in float64."""
    recorded: list[Recorded] = []
    finish, epoch = Run.finish, Sampler.epoch
    read_features, read_vocabulary = retrieval_inputs.read_features, retrieval_inputs.read_vocabulary

    def recorded_finish(run: Run) -> None:
        draw_biases(run.model)
        recorded.append(Recorded(begun=copied(run.model)))
        keep_masks(run.model, recorded[-1])
        finish(run)
        recorded[-1].ended = copied(run.model)

    def recorded_epoch(sampler: Sampler, number: int, first_step: int = 0) -> Iterator[Drawn]:
        recorded[-1].epochs.append([])
        for drawn in epoch(sampler, number, first_step):
            recorded[-1].epochs[-1].append(as_batch(drawn))
            recorded[-1].masks.append(None)
            yield drawn

    def exact_vocabulary(path: Path) -> Any:
        found = read_vocabulary(path)
        return replace(found, vectors=found.vectors.astype(np.float64))

    monkeypatch.setattr(Run, "finish", recorded_finish)
    monkeypatch.setattr(Sampler, "epoch", recorded_epoch)
    monkeypatch.setattr(retrieval_inputs, "read_vocabulary", exact_vocabulary)
    monkeypatch.setattr(
        retrieval_inputs, "read_features", lambda *given: read_features(*given).astype(np.float64)
    )
    torch.set_default_dtype(torch.float64)
    yield recorded
    torch.set_default_dtype(torch.float32)


def draw_biases(model: nn.Module) -> None:
    """Biases do not begin at zero: u of a caption without known words would have no direction."""
    generator = torch.Generator().manual_seed(0)
    for name, value in model.named_parameters():
        if name.endswith("bias") and not value.any():
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


def as_batch(drawn: Drawn) -> reading.Batch:
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


def project(files: Inputs, settings: Settings, begun_pretrained: bool, folder: Path) -> Result:
    """Pretrain, train and evaluate with the project."""
    if begun_pretrained:
        files = replace(files, pretrained=folder / "pretrained.pt")
        pretrain(
            replace(files, features=None, pretrained=None),
            pretraining(settings),
            "code",
            folder / "pretraining.pt",
            folder / "pretrained.pt",
        )
    assert files.features
    curves, model, ranks = folder / "curves.csv", folder / "model.pt", folder / "ranks.csv.gz"
    train(files, settings, "code", folder / "checkpoint.pt", curves, model)
    words, output = [path for path in files.words if path.stem in settings["languages"]], folder / "test.json"
    evaluate(model, files.features, words, files.sentences, [], {"threads": 1}, output, ranks)
    with gzip.open(ranks) as file:
        table = pd.read_csv(file)
    by_language = {
        str(language): list(rows[["direction", "image", "rank"]].itertuples(index=False, name=None))
        for language, rows in table.groupby("language")
    }
    return Result(
        pd.read_csv(curves).to_dict("records"),
        torch.load(model, weights_only=True),
        json.loads(output.read_text()),
        by_language,
    )


def pretraining(settings: Settings) -> dict[str, Any]:
    training = {**settings["training"], "epochs": 2, "learning_rate": 0.02}
    return {**settings, "training": training}


# --- The reading of the same files


@dataclass
class Read:
    """The splits as the reading has them; the one to pretrain on needs no features and keeps all images."""

    paired: reading.Split
    train: reading.Split
    val: reading.Split
    test: reading.Split
    vectors: dict[str, Tensor]


def read(files: Inputs, settings: Settings) -> Read:
    assert files.features
    languages = settings["languages"]
    rows, translated = reading.read_rows(files.sentences), reading.read_rows(files.translations)
    own = {
        code: reading.own_captions(rows, code, settings["caption_origins"].get(code, "human"))
        for code in languages
    }
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
    return Read(paired, train, val, test, {code: of_language[code][1] for code in languages})


def begun(weights: reading.Weights, split: reading.Split, found: Read, settings: Settings) -> reading.Weights:
    """The weights that a run begins with; FastText's vectors are as their files have them."""
    if settings["model"]["word_vectors"] == "pretrained":
        tables = {f"universal.{code}.table.weight": vectors for code, vectors in found.vectors.items()}
        weights = {**weights, **tables}
    if settings["model"]["universal_mean"] == "padded":
        longest = max(len(ids) for of in split.sentences.values() for _, ids in of)
        weights = {**weights, "universal.padded_to": torch.tensor(longest)}
    return weights


def pretrained(recorded: Recorded, found: Read, settings: Settings) -> reading.Weights:
    weights = {f"universal.{name}": value for name, value in recorded.begun.items()}
    weights = begun(weights, found.paired, found, settings)
    return reading.pretrained(weights, found.paired, recorded.epochs, pretraining(settings))


def assert_same(found: reading.Weights, expected: reading.Weights) -> None:
    """The same weights with the same numbers, but for E0, which the reading keeps elsewhere."""
    names, others = ({name for name in of if not name.endswith(".initial")} for of in (found, expected))
    assert names == others
    apart = {name: float((found[name] - expected[name]).abs().max()) for name in names}
    assert {name: difference for name, difference in apart.items() if not difference < CLOSE} == {}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_project_and_the_reading_agree(
    name: str, seed: int, files: Inputs, runs: list[Recorded], tmp_path: Path
) -> None:
    settings, begun_pretrained = case(name, seed), CASES[name].get("pretrained", False)
    files = replace(
        files, translations=[path for path in files.translations if translates(path, settings["languages"])]
    )
    result = project(files, settings, begun_pretrained, tmp_path)
    found = read(files, settings)
    weights = begun(runs[-1].begun, found.train, found, settings)
    for epoch in runs[-1].epochs:
        reading.check_epoch(epoch, found.train, settings["training"])
    if begun_pretrained:
        for epoch in runs[0].epochs:
            reading.check_epoch(epoch, found.paired, settings["training"])
        weights |= pretrained(runs[0], found, settings)
        assert len(runs[0].epochs) == 2
    expected = reading.trained(weights, found.train, found.val, runs[-1].epochs, runs[-1].masks, settings)

    assert len(runs[-1].epochs) == settings["training"]["epochs"]
    assert_same(runs[-1].ended, expected.ended)
    assert_same(result.kept["weights"], expected.kept)
    for row, by_reading in zip(result.curves, expected.curves, strict=True):
        assert row == pytest.approx(by_reading, rel=CLOSE, abs=CLOSE)
    assert_evaluated(result, expected, found, settings)


def translates(path: Path, languages: list[str]) -> bool:
    row = reading.read_rows([path])[0]
    return row["language"] in languages


def assert_evaluated(result: Result, expected: reading.Trained, found: Read, settings: Settings) -> None:
    """Ranks, recalls and counts on the test split; validation mR of the kept epoch."""
    curve = expected.curves[expected.epoch - 1]
    assert result.evaluation["epoch"] == result.kept["epoch"] == expected.epoch
    for language in settings["languages"]:
        assert result.evaluation["validation"][language] == pytest.approx(
            curve[f"val_mR_{language}"], abs=1e-9
        )
        to_sentence, to_image = reading.ranks_of(expected.kept, settings, found.test, language)
        sentences = found.test.sentences[language]
        captioned = sorted({image for image, _ in sentences})
        names = found.test.images
        assert result.ranks[language] == [
            *(("i2s", names[image], rank) for image, rank in zip(captioned, to_sentence, strict=True)),
            *(("s2i", names[image], rank) for (image, _), rank in zip(sentences, to_image, strict=True)),
        ]
        assert result.evaluation["test"][language] == {
            **{key: pytest.approx(value) for key, value in reading.recalls_of(to_sentence, to_image).items()},
            "chance": pytest.approx(reading.chance_of(found.test, language)),
            "images": len(captioned),
            "sentences": len(sentences),
            "sentences_without_known_words": sum(ids == [0] for _, ids in sentences),
        }


def test_an_interrupted_run_agrees_with_the_reading_too(
    files: Inputs, runs: list[Recorded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops in the second epoch, before a step whose batch is drawn; the reading goes straight on."""
    settings = {**case("MULE LC", 0), "words": {"regularization": 0.1, "regularize_toward": "previous_epoch"}}
    paths = [tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt")]
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    step, left = Run._step, iter(range(9))

    def stopping(run: Run, *given: Any) -> dict[str, Tensor]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return step(run, *given)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Run, "_step", stopping)
        train(files, settings, "code", *paths)
    train(files, settings, "code", *paths)
    before, after = runs
    (*whole, broken), (rest, *later) = before.epochs, after.epochs
    epochs, masks = [*whole, broken[:-1] + rest, *later], before.masks[:-1] + after.masks
    assert (len(whole), len(epochs)) == (1, 3)

    found = read(files, settings)
    weights = begun(before.begun, found.train, found, settings)
    expected = reading.trained(weights, found.train, found.val, epochs, masks, settings)
    assert_same(after.ended, expected.ended)
    for row, by_reading in zip(pd.read_csv(paths[1]).to_dict("records"), expected.curves, strict=True):
        assert row == pytest.approx(by_reading, rel=CLOSE, abs=CLOSE)


def test_all_that_is_random_depends_on_the_seed(files: Inputs, runs: list[Recorded], tmp_path: Path) -> None:
    """Weights at the beginning, images and sentences of the batches, and dropout, anew in each step."""
    for number, seed in enumerate((0, 0, 1)):
        (tmp_path / str(number)).mkdir()
        paths = (tmp_path / str(number) / name for name in ("checkpoint.pt", "curves.csv", "model.pt"))
        train(files, case("MULE EmbN", seed), "code", *paths)
    first, again, other = runs
    assert_same(again.ended, first.ended)
    assert first.drawn == again.drawn
    steps = sum(map(len, first.epochs))
    assert len({*first.drawn, *other.drawn}) == 2 * steps
    for name in (
        "image_branch.layers.0.weight",
        "branches.shared.recurrent.weight_hh_l0",
        "classifier.weight",
    ):
        assert not torch.isclose(first.begun[name], other.begun[name]).any()
    for one, two in ((first.epochs[0], other.epochs[0]), (first.epochs[0], first.epochs[1])):
        assert [batch.images for batch in one] != [batch.images for batch in two]
        assert [batch.rows for batch in one] != [batch.rows for batch in two]


def test_dropout_keeps_the_share_that_it_is_to_keep(
    files: Inputs, runs: list[Recorded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.7 of the units that are active, in every step; of some 3,000 by chance within 0.04."""
    active = []
    relu = nn.ReLU.forward

    def counted(module: nn.ReLU, given: Tensor) -> Tensor:
        found = relu(module, given)
        if module.training:
            active.append(int((found > 0).sum()))
        return found

    monkeypatch.setattr(nn.ReLU, "forward", counted)
    paths = (tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt"))
    train(files, case("MULE EmbN", 0), "code", *paths)
    kept = sum(int(mask.sum()) for mask in runs[0].masks if mask is not None)
    assert len(active) == len(runs[0].masks) == len(runs[0].drawn)
    assert sum(active) > 1000
    assert kept / sum(active) == pytest.approx(0.7, abs=0.06)
