"""The project and a second reading of the papers (tests/reading.py) agree, from files to ranks.

Both are float64 here; what is random is recorded (tests/recorded.py).
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import reading
import torch
from recorded import (
    CLOSE,
    LC,
    NC,
    SEEDS,
    Read,
    Recorded,
    Result,
    Settings,
    assert_evaluated,
    assert_same,
    evaluated,
    laid_over,
    read,
    recorded_runs,
    written_files,
)
from torch import Tensor, nn

from pipeline.training import loop
from pipeline.training.loop import Run
from pipeline.training.train import Inputs, pretrain, train

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
    return laid_over({key: value for key, value in CASES[name].items() if key != "pretrained"}, seed)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return written_files(tmp_path_factory.mktemp("files"))


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
    train(files, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    return evaluated(files, settings["languages"], folder)


def pretraining(settings: Settings) -> dict[str, Any]:
    training = {**settings["training"], "epochs": 2, "learning_rate": 0.02}
    return {**settings, "training": training}


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
