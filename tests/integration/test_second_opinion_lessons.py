"""The training of *Lessons* and its plain reading (tests/reference/lessons.py) agree, from files to ranks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from recorded import (
    SEEDS,
    Recorded,
    Settings,
    assert_agreement,
    captions_by_language,
    evaluate_model,
    read_splits,
    recorded_runs,
    with_changes,
    write_inputs,
)
from reference import lessons
from reference.batches import caption_pairs, check_tasks
from reference.captions import read_rows, rows_with_markers
from run_stages import train_lessons
from twelve_things import THINGS, table_of

from pipeline.training.data import Inputs

pytestmark = pytest.mark.integration

runs = recorded_runs

LESSONS: dict[str, Any] = {
    "model": {"encoder": "vse", "word_vectors": "scratch", "recurrent": "gru"},
    "languages": ["en", "de"],
    "caption_origins": {},
    "max_caption_length": None,
    "c2c": False,
    "stop_on": ["en", "de"],
    "lessons": {
        "margin": 0.2,
        "hinge": "max",
        "batch_size": 8,
        "pair_step_probability": 0.5,
        "validate_every": 7,
        "patience": 2,
        "max_steps": 45,
        "learning_rate": 0.02,
        "divide_learning_rate_every": None,
        "max_grad_norm": 2.0,
        "lengths_in_pairs": "correct",
        "validated_by_fives": [],
    },
    "training": {"precision": "float32"},
}
CASES: dict[str, dict[str, Any]] = {
    "monolingual": {"languages": ["en"], "stop_on": ["en"], "lessons": {"hinge": "sum", "max_steps": 120}},
    "monolingual, as the public code": {
        "languages": ["en"],
        "stop_on": ["en"],
        "lessons": {"hinge": "sum", "max_steps": 120, "divide_learning_rate_every": 2},
    },
    "bilingual": {"stop_on": ["de"]},
    "bilingual + c2c": {"c2c": True},
    "bilingual + c2c, as the public code": {
        "c2c": True,
        "pairs_of_others": True,
        "lessons": {"lengths_in_pairs": "reversed", "validated_by_fives": ["de"]},
    },
}


def case(name: str, seed: int) -> Settings:
    return with_changes(CASES[name], seed, with_changes(LESSONS, seed))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The captions with <start> and <end>, and one table of all words, which has UNK too."""
    inputs = write_inputs(tmp_path_factory.mktemp("files"))
    folder, words = tmp_path_factory.mktemp("selected"), ["", "<unk>", "<start>", "<end>"]
    words += [f"{code}{thing}" for code in ("en", "de") for thing in range(THINGS)]
    sentences, vocabularies = [], []
    for code, rows in captions_by_language(inputs, with_changes(LESSONS, 0)).items():
        sentences.append(folder / f"{code}.csv")
        vocabularies.append(folder / f"{code}.h5")
        marked = rows_with_markers(rows)
        columns = ("image", "split", "language", "caption", "origin", "source_language")
        table = table_of([tuple(row[column] for column in columns) for row in marked])
        tokens = [row["tokens"].replace("unheard", "<unk>") for row in marked]
        table.assign(tokens=tokens).to_csv(sentences[-1], index=False)
        with h5py.File(vocabularies[-1], "w") as file:
            file.create_dataset("words", data=words, dtype=h5py.string_dtype())
            file["vectors"] = np.zeros((len(words), 5), np.float32)
            file.attrs.update({"language": code, "unit": "word"})
    return Inputs(sentences, [], vocabularies, inputs.features)


def inputs_of_case(files: Inputs, settings: Settings, folder: Path) -> tuple[Inputs, list[Path]]:
    """A case's captions; with `pairs_of_others`, of half of the images, and all captions for the pairs."""
    every = [path for path in files.sentences if path.stem in settings["languages"]]
    words = [path for path in files.words if path.stem in settings["languages"]]
    if not settings.get("pairs_of_others"):
        return replace(files, sentences=every, words=words), []
    halves: list[Path] = []
    pairs: list[Path] = []
    for path in every:
        rows = read_rows([path])
        half = [row for row in rows if row["split"] != "train" or int(row["image"][-1]) < 6]
        for part, paths, name in (
            (half, halves, path.name),
            ([row for row in rows if row["split"] == "train"], pairs, f"pairs-{path.name}"),
        ):
            paths.append(folder / name)
            table = table_of([tuple(row.values())[:6] for row in part])
            table.assign(tokens=[row["tokens"] for row in part]).to_csv(paths[-1], index=False)
    return replace(files, sentences=halves, words=words), pairs


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_project_and_the_reading_agree(
    name: str, seed: int, files: Inputs, runs: list[Recorded], tmp_path: Path
) -> None:
    settings = case(name, seed)
    inputs, pairs = inputs_of_case(files, settings, tmp_path)
    paths = [tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt")]
    train_lessons(inputs, pairs, settings, "code", *paths)
    result = evaluate_model(inputs, settings["languages"], tmp_path)

    whole = {**settings, "max_caption_length": 99}
    splits = read_splits(inputs, whole)
    captions = [caption for of_language in splits.train.sentences.values() for caption in of_language]
    in_pairs, first_row = splits.train.sentences, 0
    if pairs:
        in_pairs = read_splits(replace(inputs, sentences=pairs), whole).paired.sentences
        first_row = len(captions)
        captions = captions + [caption for of_language in in_pairs.values() for caption in of_language]
    (run,) = runs
    check_tasks(run.epochs, splits.train.sentences, caption_pairs(in_pairs, first_row), settings)
    expected = lessons.train(run.initial, splits.train, captions, splits.val, run.epochs, settings)
    steps = settings["lessons"]["validate_every"]
    if len(settings["languages"]) == 1:
        steps = -(-len(captions) // settings["lessons"]["batch_size"])
    assert {len(epoch) for epoch in run.epochs} == {steps}
    assert_agreement(run, result, expected, splits, settings)
