"""Training and evaluation of small models on files; killed runs resume and end with the same weights."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from run_stages import killed_after, pretrain, train

from pipeline.common.errors import InputError
from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.settings import Preparation
from pipeline.models.model import load_model
from pipeline.tables.evaluations import Evaluations
from pipeline.training.data import Inputs
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary

pytestmark = pytest.mark.integration

# mR of a random ranking among 12 images with two English captions and one German caption each.
BY_CHANCE = {"en": 41.123, "de": 44.444}
OTHER_MACHINE = 6.0  # what rounding may change an mR by; a query that moves by a rank changes it by 1.4


def assert_found(result: dict[str, Any], expected: dict[str, float]) -> None:
    """Check the mR that these trainings had when the test was written, and chance."""
    found = {language: values["mR"] for language, values in result["test"].items()}
    chance = {language: values["chance"]["mR"] for language, values in result["test"].items()}
    assert found == pytest.approx(expected, abs=OTHER_MACHINE)
    assert chance == pytest.approx(BY_CHANCE, abs=1e-3)


def train_model(inputs: Inputs, settings: dict[str, Any], folder: Path) -> Path:
    train(inputs, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    return folder / "model.pt"


def evaluate_model(inputs: Inputs, model: Path, folder: Path, queries: Sequence[Path] = ()) -> dict[str, Any]:
    assert inputs.features
    output, ranks = folder / "test.json", folder / "test-ranks.csv.gz"
    evaluate(model, inputs.features, inputs.words, inputs.sentences, Preparation(), output, ranks, queries)
    result: dict[str, Any] = json.loads(output.read_text())
    return result


def translate_sentences(sentences: Path, target: str, origins: dict[str, str], folder: Path) -> Path:
    """A copy of a table in which the captions of images whose names have a prefix are called translations."""
    table = read_sentences(sentences)
    parts = [
        table[table["image"].str.startswith(start)].assign(origin=origin) for start, origin in origins.items()
    ]
    source = table["language"].iloc[0]
    output = folder / f"{source}-{target}.csv"
    write_sentences(pd.concat(parts).assign(language=target, source_language=source), output)
    return output


def same_weights(first: Path, second: Path) -> bool:
    one, other = (load_model(path)[0].state_dict() for path in (first, second))
    return all(torch.equal(value, other[name]) for name, value in one.items())


def test_a_model_learns_from_the_captions(inputs: Inputs, experiment: dict[str, Any], tmp_path: Path) -> None:
    result = evaluate_model(inputs, train_model(inputs, experiment, tmp_path), tmp_path)
    assert_found(result, {"en": 74.3, "de": 75.0})
    assert [result["test"][language]["sentences_without_known_words"] for language in ("en", "de")] == [0, 0]
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert curves["epoch"].tolist() == list(range(1, 41))
    best = curves.loc[curves["val_mR"].idxmax()]
    assert result["epoch"] == best["epoch"]
    rounding = 5.0 if torch.cuda.is_available() else 1e-6  # the curve comes from the device that trained
    assert result["validation"]["de"] == pytest.approx(best["val_mR_de"], abs=rounding)
    assert (tmp_path / "checkpoint.pt").stat().st_size < 2_000  # without weights, the run is finished


@pytest.mark.parametrize(("rate", "warned"), [(1e-9, True), (0.02, False)])
def test_pretraining_says_if_its_loss_stays_at_the_margin(
    inputs: Inputs,
    experiment: dict[str, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    rate: float,
    warned: bool,
) -> None:
    experiment["training"] |= {"learning_rate": rate, "epochs": 20}
    without_images = replace(inputs, features=None)
    pretrain(without_images, experiment, "code", tmp_path / "checkpoint.pt", tmp_path / "pretrained.pt")
    assert ("has not come below its margin, 0.2" in caplog.text) == warned


def test_deterministic_trainings_give_the_same_weights(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU this shows that nothing is refused; on a GPU, that nothing differs."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")  # undone after the test
    experiment["training"] |= {"epochs": 3, "deterministic": True}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first, second = (train_model(inputs, experiment, tmp_path / name) for name in ("first", "second"))
    assert torch.are_deterministic_algorithms_enabled()
    assert same_weights(first, second)


@pytest.fixture
def frozen_inputs(inputs: Inputs, things: dict[str, list[str]], tmp_path: Path) -> Inputs:
    """The same captions, each with a frozen vector that says which things it names."""
    files = []
    for path in inputs.sentences:
        table = read_sentences(path)
        language, captions = table["language"].iloc[0], sorted(set(table["caption"]))
        named = np.array(
            [[word in caption.split() for word in things[language]] for caption in captions], np.float32
        )
        vectors = np.vstack([np.zeros((1, 8), np.float32), named])
        output = tmp_path / f"frozen-{language}.h5"
        write_vocabulary(Vocabulary(language, ["", *captions], vectors, "caption"), {}, output)
        files.append(output)
    return Inputs(inputs.sentences, [], files, inputs.features)


def test_a_model_learns_from_frozen_sentence_vectors(
    frozen_inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment |= {"neighborhood": None, "classifier": None}
    experiment["model"] |= {"recurrent": "mlp", "universal_layers": "shared"}
    model = train_model(frozen_inputs, experiment, tmp_path)
    result = evaluate_model(frozen_inputs, model, tmp_path)
    assert_found(result, {"en": 78.5, "de": 76.4})
    assert [result["test"][language]["sentences_without_known_words"] for language in ("en", "de")] == [0, 0]
    assert load_model(model)[0].count()["words"] == 0  # the vectors are data, no part of the model


def test_a_model_records_who_made_its_captions(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    """Two captions per image in English, one in German; a resumed run writes equal bytes."""
    experiment |= {"captions": "human+mt"}
    experiment["training"]["epochs"] = 2
    english, german = inputs.sentences
    tables = [
        translate_sentences(
            english, "de", {"train0": "google", "train1": "dictionary", "val": "google"}, tmp_path
        ),
        translate_sentences(german, "en", {"train4": "dictionary"}, tmp_path),
    ]
    with_tables = Inputs(inputs.sentences, tables, inputs.words, inputs.features)
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    whole = train_model(with_tables, experiment, tmp_path / "whole")
    saved = load_model(whole)[1]
    # Of 48 training images ten begin with train0, ten with train1, eight with train4.
    assert saved.training_captions == {
        "en": {"dictionary": 8, "human": 96},
        "de": {"dictionary": 20, "google": 20, "human": 48},
    }
    assert saved.training_translations == {
        "en-de": {"dictionary": 20, "google": 20},
        "de-en": {"dictionary": 8},
    }
    result = evaluate_model(with_tables, whole, tmp_path)
    assert result["training_captions"] == saved.training_captions
    assert result["training_translations"] == saved.training_translations
    assert result["query_translations"] == {}
    # Two passes over 48 images, in batches of twelve.
    assert (result["training_steps"], result["training_groups"]) == (8, [48])

    with killed_after(3):
        train_model(with_tables, experiment, tmp_path / "stopped")
    stopped = train_model(with_tables, experiment, tmp_path / "stopped")
    assert whole.read_bytes() == stopped.read_bytes()


def test_an_evaluation_records_who_translated_its_queries(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment |= {"languages": ["en"], "neighborhood": None, "classifier": None}
    experiment["training"]["epochs"] = 1
    table = translate_sentences(
        inputs.sentences[1], "en", {"test0": "google", "test1": "dictionary"}, tmp_path
    )
    result = evaluate_model(inputs, train_model(inputs, experiment, tmp_path), tmp_path, [table])
    assert result["queries"] == "translated"
    assert result["query_translations"] == {"de-en": {"dictionary": 2, "google": 10}}
    assert result["training_translations"] == {}
    found = Evaluations([tmp_path / "test.json"], [0]).providers(("things", "mule-nc-lc", "translated"), "de")
    assert found == {"dictionary", "google"}


def test_sigkill_at_any_moment_changes_nothing(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment["training"]["epochs"] = 60  # it must not end before its kills
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    train_model(inputs, experiment, tmp_path / "whole")
    killed, moments = command(inputs, experiment, tmp_path / "killed"), random.Random(0)
    for _ in range(2):
        kill_once_it_has_a_checkpoint(killed, tmp_path / "killed" / "checkpoint.pt", moments.uniform(0, 0.4))
    done = subprocess.run(killed, check=True, capture_output=True, text=True)
    assert "resuming after step" in done.stderr
    for name in ("model.pt", "curves.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()


def kill_once_it_has_a_checkpoint(arguments: list[str], checkpoint: Path, later: float) -> None:
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not checkpoint.exists() or checkpoint.stat().st_mtime_ns == before:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(later)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


WITH_CHECKPOINTS = """
import sys
from pipeline import cli
from pipeline.training import loop
loop.SECONDS_BETWEEN_CHECKPOINTS = 0.0
sys.exit(cli.main())
"""


def command(inputs: Inputs, settings: dict[str, Any], folder: Path) -> list[str]:
    """A training that saves a checkpoint after each step."""
    return [
        sys.executable, "-c", WITH_CHECKPOINTS, "train", "--code", "code",
        "--settings", json.dumps(settings),
        "--features", str(inputs.features),
        "--sentences", *map(str, inputs.sentences),
        "--words", *map(str, inputs.words),
        "--checkpoint", str(folder / "checkpoint.pt"),
        "--curves", str(folder / "curves.csv"),
        "--output", str(folder / "model.pt"),
    ]  # fmt: skip


def test_evaluation_refuses_the_same_words_in_another_order(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment["training"]["epochs"] = 1
    model = train_model(inputs, experiment, tmp_path)
    english, german = inputs.words
    whole = read_vocabulary(german)
    words = [whole.words[0], *reversed(whole.words[1:])]
    write_vocabulary(Vocabulary("de", words, whole.vectors), {}, tmp_path / "other.h5")
    with pytest.raises(InputError, match="'de': the --words file is not the one the model was trained with"):
        evaluate_model(replace(inputs, words=[english, tmp_path / "other.h5"]), model, tmp_path)
