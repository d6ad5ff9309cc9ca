"""LIWE and its plain reading (tests/reference/liwe.py) agree, from captions to ranks; as for MULE."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from recorded import (
    SEEDS,
    Recorded,
    Settings,
    Splits,
    assert_agreement,
    captions_by_language,
    evaluate_model,
    recorded_runs,
    with_changes,
    write_inputs,
)
from reference import liwe
from reference.batches import Batch, check_epoch, check_sentences, steps_per_epoch
from reference.captions import Split, read_features, read_rows, training_captions
from reference.layers import Weights
from run_stages import train

from pipeline.training.data import Inputs
from pipeline.words.make import build_vocabulary
from pipeline.words.settings import WordSettings

pytestmark = pytest.mark.integration

runs = recorded_runs

LIWE: dict[str, Any] = {
    "model": {"encoder": "liwe", "hidden_size": 5},
    "liwe": {
        "character_dim": 3,
        "max_word_length": 4,
        "layers": [7, 6],
        "margin": 0.2,
        "image_base": 0.9,
        "caption_base": 0.8,
        "learning_rate_decay_after": 5,
        "learning_rate_decay": 0.1,
        "validate_every": 4,
    },
    "triplets": None,
    "matching": None,
    "word_regularizer": None,
    # A small rate, because the gradient of a bias before batch norm is only rounding, which Adam amplifies.
    "training": {
        "sentences_per_image": 1,
        "max_grad_norm": 2.0,
        "learning_rate": 0.001,
        "learning_rate_decay": 1.0,
    },
}
CASES: dict[str, dict[str, Any]] = {
    "S-LIWE, one language": {"languages": ["en"], "liwe": {"learning_rate_decay_after": 100}},
    "L-LIWE, three languages": {"captions": "human+mt", "liwe": {"character_dim": 8}},
    "every caption of an image": {"languages": ["en", "de"], "training": {"sentences_per_image": 2}},
}


def case(name: str, seed: int) -> Settings:
    return with_changes(CASES[name], seed, with_changes(LIWE, seed))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Words of validation and test have characters that training lacks; some have no others."""
    found = write_inputs(tmp_path_factory.mktemp("files"))
    for path in found.sentences:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        strange = table["tokens"].str.replace("unheard", "ζζ").str.replace("1", "ξ")
        table["tokens"] = table["tokens"].where(table["split"] == "train", strange)
        table.to_csv(path, index=False)
    return found


def with_spelling(files: Inputs, settings: Settings, folder: Path) -> Inputs:
    """The files with the words of the case's languages, spelled."""
    words = []
    for code in settings["languages"]:
        (own,) = (path for path in files.sentences if path.stem == f"own-{code}")
        into = [path for path in files.translations if path.stem.endswith(f"-{code}")]
        translations = [] if settings["captions"] == "human" else into
        words.append(folder / f"{code}.h5")
        origin, longest = settings["caption_origins"].get(code, "human"), settings["liwe"]["max_word_length"]
        how = WordSettings(max_word_length=longest)
        build_vocabulary(code, own, how, words[-1], origin, translations, settings["captions"])
    return replace(files, words=words)


def read_spelled_splits(
    files: Inputs, settings: Settings
) -> tuple[Splits, dict[str, dict[str, Any]], set[str]]:
    """The splits, their sentences as words by split, and all characters that words are made of.

    The rows of `Split.sentences` only name an image; a sentence without a known word is [0].
    """
    assert files.features
    original, translated = captions_by_language(files, settings), read_rows(files.translations)
    to_train_on = {
        code: training_captions(
            rows, [row for row in translated if row["language"] == code], settings["captions"]
        )
        for code, rows in original.items()
    }
    features, known = read_features(files.features), liwe.training_alphabet(to_train_on)
    sizes = settings["liwe"]["max_word_length"], settings["max_caption_length"]
    splits, sentences = {}, {}
    for split in ("train", "val", "test"):
        rows = {
            code: [row for row in of_language if row["split"] == split and row["image"] in features]
            for code, of_language in (to_train_on if split == "train" else original).items()
        }
        images = sorted({row["image"] for row in chain.from_iterable(rows.values())})
        sentences[split] = {
            code: liwe.spelled_sentences(of_language, images, known[code], *sizes)
            for code, of_language in rows.items()
        }
        ids = {
            code: [(image, [0] if words == [""] else [1]) for image, words in of_language]
            for code, of_language in sentences[split].items()
        }
        splits[split] = Split(images, torch.tensor([features[image] for image in images]), ids)
    letters = {
        letter
        for code in original
        for row in [*(row for row in to_train_on[code] if row["split"] == "train"), *original[code]]
        for word in row["tokens"].split()
        for letter in liwe.spelling(word, known[code], settings["liwe"]["max_word_length"])
    }
    return (
        Splits(splits["train"], splits["train"], splits["val"], splits["test"], {}, {}, {}),
        sentences,
        letters | {"\0"},
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_project_and_the_reading_agree(
    name: str, seed: int, files: Inputs, runs: list[Recorded], tmp_path: Path
) -> None:
    settings = case(name, seed)
    files = replace(
        files,
        translations=[path for path in files.translations if path.stem[-2:] in settings["languages"]],
    )
    spelled = with_spelling(files, settings, tmp_path)
    paths = [tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt")]
    train(spelled, settings, "code", *paths)
    result = evaluate_model(spelled, settings["languages"], tmp_path)

    splits, sentences, letters = read_spelled_splits(files, settings)
    (run,) = runs
    check_segments(run.epochs, splits.train, settings)
    assert [chr(code) for code in run.initial["spelled.alphabet"].tolist()] == sorted(letters)
    expected = liwe.train(
        run.initial, splits.train, sentences["train"], splits.val, sentences["val"], run.epochs, settings
    )

    def ranks_of(weights: Weights, _: Settings, split: Split, language: str) -> Any:
        return liwe.model_ranks(weights, settings, split, sentences["test"], language)

    assert_agreement(run, result, expected, splits, settings, ranks_of)


def check_segments(epochs: list[list[Batch]], split: Split, settings: Settings) -> None:
    """Check segments of four steps, each of which continues the last; the last one ends the third epoch."""
    every, training = settings["liwe"]["validate_every"], settings["training"]
    steps = steps_per_epoch(split, training)
    assert steps % every
    assert [len(epoch) for epoch in epochs] == [every] * -(-training["epochs"] * steps // every)
    batches = list(chain.from_iterable(epochs))
    for start in range(0, training["epochs"] * steps, steps):
        check_epoch(batches[start : start + steps], split, training)
    for batch in batches:
        check_sentences(batch, split, training)
