"""The project and the plain reading of the papers (tests/reference) agree, from files to ranks.

Both use float64 here; random numbers are recorded (tests/recorded.py).
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from recorded import (
    LC,
    NC,
    SEEDS,
    Recorded,
    Result,
    Settings,
    Splits,
    assert_agreement,
    assert_same_curves,
    assert_same_weights,
    evaluate_model,
    read_splits,
    recorded_runs,
    with_changes,
    write_inputs,
)
from reference.batches import check_epoch
from reference.captions import read_rows
from reference.layers import Weights
from reference.training import pretrain_layers
from reference.training import train as train_by_reading
from run_stages import killed_after, pretrain, train

from pipeline.training.data import Inputs

pytestmark = pytest.mark.integration

runs = recorded_runs

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
        "classifier": {"weight": 0.3, "weight_applied": "twice", "mean_over": "languages"},
        "pretrained": True,
        "model": {
            "recurrent": "gru_reset_before",
            "recurrent_init": "tensorflow",
            "batch_norm_momentum": 0.9,
            "universal_mean": "padded",
        },
        "word_regularizer": {"weight": 0.1, "regularize_toward": "previous_epoch"},
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
    return with_changes({key: value for key, value in CASES[name].items() if key != "pretrained"}, seed)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return write_inputs(tmp_path_factory.mktemp("files"))


def train_and_evaluate(files: Inputs, settings: Settings, layers_pretrained: bool, folder: Path) -> Result:
    """Pretrain, train and evaluate with the project."""
    if layers_pretrained:
        files = replace(files, pretrained=folder / "pretrained.pt")
        pretrain(
            replace(files, features=None, pretrained=None),
            pretraining(settings),
            "code",
            folder / "pretraining.pt",
            folder / "pretrained.pt",
        )
    train(files, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    return evaluate_model(files, settings["languages"], folder)


def pretraining(settings: Settings) -> dict[str, Any]:
    training = {**settings["training"], "epochs": 2, "learning_rate": 0.02}
    return {**settings, "training": training}


def initial_weights(recorded: Weights, splits: Splits, settings: Settings) -> Weights:
    """The weights before a run's first step; FastText's vectors are those in the files."""
    weights = dict(recorded)
    if settings["model"]["word_vectors"] == "pretrained":
        weights |= {f"universal.{code}.table.weight": vectors for code, vectors in splits.vectors.items()}
    if settings["model"]["universal_mean"] == "padded":
        weights["universal.padded_to"] = torch.tensor(list(splits.longest.values()))
    return weights


def pretrained_weights(run: Recorded, splits: Splits, settings: Settings) -> Weights:
    weights = {f"universal.{name}": value for name, value in run.initial.items()}
    weights = initial_weights(weights, splits, settings)
    return pretrain_layers(weights, splits.paired, run.epochs, pretraining(settings))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_project_and_the_reading_agree(
    name: str, seed: int, files: Inputs, runs: list[Recorded], tmp_path: Path
) -> None:
    settings, layers_pretrained = case(name, seed), CASES[name].get("pretrained", False)
    files = replace(
        files, translations=[path for path in files.translations if translates(path, settings["languages"])]
    )
    result = train_and_evaluate(files, settings, layers_pretrained, tmp_path)
    splits = read_splits(files, settings)
    run = runs[-1]
    weights = initial_weights(run.initial, splits, settings)
    for epoch in run.epochs:
        check_epoch(epoch, splits.train, settings["training"])
    if layers_pretrained:
        for epoch in runs[0].epochs:
            check_epoch(epoch, splits.paired, settings["training"])
        weights |= pretrained_weights(runs[0], splits, settings)
        assert len(runs[0].epochs) == 2
    assert len(run.epochs) == settings["training"]["epochs"]
    expected = train_by_reading(weights, splits.train, splits.val, run.epochs, settings)
    assert_agreement(run, result, expected, splits, settings)


def translates(path: Path, languages: list[str]) -> bool:
    row = read_rows([path])[0]
    return row["language"] in languages


def test_an_interrupted_run_agrees_with_the_reading_too(
    files: Inputs, runs: list[Recorded], tmp_path: Path
) -> None:
    """It stops in the second epoch, after a batch was drawn and before its step; the reading runs through."""
    settings = {
        **case("MULE LC", 0),
        "word_regularizer": {"weight": 0.1, "regularize_toward": "previous_epoch"},
    }
    paths = [tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt")]
    with killed_after(9):
        train(files, settings, "code", *paths)
    train(files, settings, "code", *paths)
    before, after = runs
    assert (len(before.batches), min(after.batches)) == (9, 9)
    after.batches = before.batches | after.batches
    assert len(after.epochs) == 3

    splits = read_splits(files, settings)
    weights = initial_weights(before.initial, splits, settings)
    expected = train_by_reading(weights, splits.train, splits.val, after.epochs, settings)
    assert_same_weights(after.last, expected.last)
    assert_same_curves(pd.read_csv(paths[1]).to_dict("records"), expected.curves)


def test_everything_random_depends_on_the_seed(files: Inputs, runs: list[Recorded], tmp_path: Path) -> None:
    """Initial weights, and images and sentences of the batches."""
    for number, seed in enumerate((0, 0, 1)):
        (tmp_path / str(number)).mkdir()
        paths = (tmp_path / str(number) / name for name in ("checkpoint.pt", "curves.csv", "model.pt"))
        train(files, case("MULE EmbN", seed), "code", *paths)
    first, again, other = runs
    assert_same_weights(again.last, first.last)
    for name in (
        "image_branch.layers.0.weight",
        "branches.shared.recurrent.weight_hh_l0",
        "universal.en.projection.weight",
    ):
        assert not torch.isclose(first.initial[name], other.initial[name]).any()
    for one, two in ((first.epochs[0], other.epochs[0]), (first.epochs[0], first.epochs[1])):
        assert [batch.images for batch in one] != [batch.images for batch in two]
        assert [batch.rows for batch in one] != [batch.rows for batch in two]
