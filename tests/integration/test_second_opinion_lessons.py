"""The training of *Lessons* and its second reading (tests/reading_lessons.py) agree, from files to ranks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import reading
import reading_lessons as lessons
from recorded import (
    CLOSE,
    SEEDS,
    Recorded,
    Settings,
    assert_evaluated,
    assert_same,
    evaluated,
    laid_over,
    own_captions,
    read,
    recorded_runs,
    written_files,
)
from twelve_things import THINGS, table_of

from pipeline.training.multitask import train_multitask
from pipeline.training.train import Inputs

pytestmark = pytest.mark.integration

runs = recorded_runs

LESSONS: dict[str, Any] = {
    "model": {"encoder": "vse", "word_vectors": "scratch", "recurrent": "gru"},
    "languages": ["en", "de"],
    "caption_origins": {},
    "max_caption_length": None,
    "c2c": False,
    "stop_on": ["en", "de"],
    "tasks": {
        "margin": 0.2,
        "hinge": "max",
        "batch": 9,
        "share_of_pairs": 0.5,
        "validate_after": 7,
        "patience": 2,
        "most_steps": 45,
        "learning_rate": 0.02,
        "divide_learning_rate_every": None,
        "max_grad_norm": 2.0,
        "lengths_in_pairs": "right",
        "validated_as": "captions",
    },
    "training": {"precision": "float32"},
}
CASES: dict[str, dict[str, Any]] = {
    "monolingual": {"languages": ["en"], "stop_on": ["en"], "tasks": {"hinge": "sum", "most_steps": 120}},
    "monolingual, as the public code": {
        "languages": ["en"],
        "stop_on": ["en"],
        "tasks": {"hinge": "sum", "most_steps": 120, "divide_learning_rate_every": 2},
    },
    "bilingual": {"stop_on": ["de"]},
    "bilingual + c2c": {"c2c": True},
    "bilingual + c2c, as the public code": {
        "c2c": True,
        "pairs_of_others": True,
        "tasks": {"lengths_in_pairs": "reversed", "validated_as": "five_captions"},
    },
}


def case(name: str, seed: int) -> Settings:
    return laid_over(CASES[name], seed, laid_over(LESSONS, seed))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The captions with <start> and <end>, and one table of all words, which has UNK too."""
    found = written_files(tmp_path_factory.mktemp("files"))
    folder, words = tmp_path_factory.mktemp("selected"), ["", "<unk>", "<start>", "<end>"]
    words += [f"{code}{thing}" for code in ("en", "de") for thing in range(THINGS)]
    sentences, vocabularies = [], []
    for code, rows in own_captions(found, laid_over(LESSONS, 0)).items():
        sentences.append(folder / f"{code}.csv")
        vocabularies.append(folder / f"{code}.h5")
        marked = lessons.with_markers(rows)
        columns = ("image", "split", "language", "caption", "origin", "source_language")
        table = table_of([tuple(row[column] for column in columns) for row in marked])
        tokens = [row["tokens"].replace("unheard", "<unk>") for row in marked]
        table.assign(tokens=tokens).to_csv(sentences[-1], index=False)
        with h5py.File(vocabularies[-1], "w") as file:
            file.create_dataset("words", data=words, dtype=h5py.string_dtype())
            file["vectors"] = np.zeros((len(words), 5), np.float32)
            file.attrs.update({"language": code, "unit": "word"})
    return Inputs(sentences, [], vocabularies, found.features)


def of_the_case(files: Inputs, settings: Settings, folder: Path) -> tuple[Inputs, list[Path]]:
    """Half of the training images; and the captions of all of them, which give pairs, where they do."""
    every = [path for path in files.sentences if path.stem in settings["languages"]]
    words = [path for path in files.words if path.stem in settings["languages"]]
    if not settings.get("pairs_of_others"):
        return replace(files, sentences=every, words=words), []
    halves: list[Path] = []
    pairs: list[Path] = []
    for path in every:
        rows = reading.read_rows([path])
        half = [row for row in rows if row["split"] != "train" or int(row["image"][-1]) < 6]
        for wanted, kept, name in (
            (half, halves, path.name),
            ([row for row in rows if row["split"] == "train"], pairs, f"pairs-{path.name}"),
        ):
            kept.append(folder / name)
            table = table_of([tuple(row.values())[:6] for row in wanted])
            table.assign(tokens=[row["tokens"] for row in wanted]).to_csv(kept[-1], index=False)
    return replace(files, sentences=halves, words=words), pairs


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_project_and_the_reading_agree(
    name: str, seed: int, files: Inputs, runs: list[Recorded], tmp_path: Path
) -> None:
    settings = case(name, seed)
    given, pairs = of_the_case(files, settings, tmp_path)
    written = tmp_path / "checkpoint.pt", tmp_path / "curves.csv", tmp_path / "model.pt"
    train_multitask(given, pairs, settings, "code", *written)
    result = evaluated(given, settings["languages"], tmp_path)

    found = read(given, {**settings, "max_caption_length": 99})
    captions = [caption for of in found.train.sentences.values() for caption in of]
    paired, begin = found.train.sentences, 0
    if pairs:
        others = read(replace(given, sentences=pairs), {**settings, "max_caption_length": 99})
        paired, begin = others.paired.sentences, len(captions)
        captions = captions + [caption for of in paired.values() for caption in of]
    (run,) = runs
    lessons.check_tasks(run.epochs, found.train.sentences, lessons.caption_pairs(paired, begin), settings)
    expected = lessons.trained(run.begun, found.train, captions, found.val, run.epochs, settings)
    assert_same(run.ended, expected.ended)
    assert_same(result.kept["weights"], expected.kept)
    for row, by_reading in zip(result.curves, expected.curves, strict=True):
        assert row == pytest.approx(by_reading, rel=CLOSE, abs=CLOSE)
    steps = settings["tasks"]["validate_after"]
    if len(settings["languages"]) == 1:
        steps = -(-len(captions) // settings["tasks"]["batch"])
    assert {len(epoch) for epoch in run.epochs} == {steps}
    assert_evaluated(result, expected, found, settings)
