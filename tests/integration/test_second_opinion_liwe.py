"""LIWE and its second reading (tests/reading_liwe.py) agree, from captions to ranks; as for MULE."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import reading
import reading_liwe as liwe
import torch
from recorded import (
    CLOSE,
    SEEDS,
    Read,
    Settings,
    assert_evaluated,
    assert_same,
    evaluated,
    laid_over,
    own_captions,
    recorded_runs,
    written_files,
)
from recorded import Recorded as Run

from pipeline.training.train import Inputs, train
from pipeline.words.spelled import encode_characters

pytestmark = pytest.mark.integration

runs = recorded_runs

LIWE: dict[str, Any] = {
    "model": {"encoder": "liwe", "hidden": 5},
    "liwe": {
        "characters": 3,
        "longest_word": 4,
        "layers": [7, 6],
        "margin": 0.2,
        "image_base": 0.9,
        "caption_base": 0.8,
        "drop_after": 5,
        "drop": 0.1,
        "validate_every": 4,
    },
    "triplets": None,
    "matching": None,
    "words": {"regularization": 0.0, "regularize_toward": "initial"},
    # A small rate: the gradient of a bias before batch norm is rounding alone, which Adam makes larger.
    "training": {
        "sentences_per_image": 1,
        "max_grad_norm": 2.0,
        "learning_rate": 0.001,
        "learning_rate_decay": 1.0,
    },
}
CASES: dict[str, dict[str, Any]] = {
    "S-LIWE, one language": {"languages": ["en"], "liwe": {"drop_after": 100}},
    "L-LIWE, three languages": {"captions": "human+mt", "liwe": {"characters": 8}},
    "every caption of an image": {"languages": ["en", "de"], "training": {"sentences_per_image": 2}},
}


def case(name: str, seed: int) -> Settings:
    return laid_over(CASES[name], seed, laid_over(LIWE, seed))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Words of validation and test have characters that training has not, some of them no other."""
    found = written_files(tmp_path_factory.mktemp("files"))
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
        origin, longest = settings["caption_origins"].get(code, "human"), settings["liwe"]["longest_word"]
        encode_characters(code, own, longest, words[-1], origin, translations, settings["captions"])
    return replace(files, words=words)


def read(files: Inputs, settings: Settings) -> tuple[Read, dict[str, dict[str, Any]], set[str]]:
    """The splits, their sentences as words by split, and all characters that words are made of.

    The rows of `reading.Split.sentences` tell of an image alone; a sentence of no known word is [0].
    """
    assert files.features
    own, translated = own_captions(files, settings), reading.read_rows(files.translations)
    learnt = {
        code: reading.training_captions(
            rows, [row for row in translated if row["language"] == code], settings["captions"]
        )
        for code, rows in own.items()
    }
    features, known = reading.read_features(files.features), liwe.alphabet_of(learnt)
    sizes = settings["liwe"]["longest_word"], settings["max_caption_length"]
    splits, sentences = {}, {}
    for split in ("train", "val", "test"):
        rows = {
            code: [row for row in of if row["split"] == split and row["image"] in features]
            for code, of in (learnt if split == "train" else own).items()
        }
        images = sorted({row["image"] for row in chain.from_iterable(rows.values())})
        spelled = {code: liwe.spelled(of, images, known[code], *sizes) for code, of in rows.items()}
        sentences[split] = spelled
        ids = {
            code: [(image, [0] if words == [""] else [1]) for image, words in of]
            for code, of in spelled.items()
        }
        vectors = torch.tensor([features[image] for image in images])
        splits[split] = reading.Split(images, vectors, ids)
    found = Read(splits["train"], splits["train"], splits["val"], splits["test"], {}, {})
    letters = {
        letter
        for code in own
        for row in [*(row for row in learnt[code] if row["split"] == "train"), *own[code]]
        for word in row["tokens"].split()
        for letter in liwe.spelling(word, known[code], settings["liwe"]["longest_word"])
    }
    return found, sentences, letters | {"\0"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_project_and_the_reading_agree(
    name: str, seed: int, files: Inputs, runs: list[Run], tmp_path: Path
) -> None:
    settings = case(name, seed)
    files = replace(
        files,
        translations=[path for path in files.translations if path.stem[-2:] in settings["languages"]],
    )
    given = with_spelling(files, settings, tmp_path)
    train(given, settings, "code", tmp_path / "checkpoint.pt", tmp_path / "curves.csv", tmp_path / "model.pt")
    result = evaluated(given, settings["languages"], tmp_path)

    found, sentences, letters = read(files, settings)
    (run,) = runs
    check_stretches(run.epochs, found.train, settings)
    assert [chr(code) for code in run.begun["spelled.alphabet"].tolist()] == sorted(letters)
    expected = liwe.trained(
        run.begun, found.train, sentences["train"], found.val, sentences["val"], run.epochs, settings
    )
    assert_same(run.ended, expected.ended)
    assert_same(result.kept["weights"], expected.kept)
    for row, by_reading in zip(result.curves, expected.curves, strict=True):
        assert row == pytest.approx(by_reading, rel=CLOSE, abs=CLOSE)

    def ranks_of(weights: reading.Weights, _: Settings, split: reading.Split, language: str) -> Any:
        return liwe.ranks_of(weights, settings, split, sentences["test"], language)

    assert_evaluated(result, expected, found, settings, ranks_of)


def check_stretches(epochs: list[list[reading.Batch]], split: reading.Split, settings: Settings) -> None:
    """Stretches of four steps go on where the last one ended, to the end of one that ends three epochs."""
    every, training = settings["liwe"]["validate_every"], settings["training"]
    steps = reading.steps_of(split, training)
    assert steps % every
    assert [len(epoch) for epoch in epochs] == [every] * -(-training["epochs"] * steps // every)
    batches = list(chain.from_iterable(epochs))
    for start in range(0, training["epochs"] * steps, steps):
        reading.check_epoch(batches[start : start + steps], split, training)
    for batch in batches:
        reading.check_sentences(batch, split, training)
