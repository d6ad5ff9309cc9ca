"""Each file of a command line arrives in its own place: one left out would train another model."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from pipeline import registry as parts
from pipeline import settings as configuration
from pipeline.cli import run
from pipeline.common import gpus
from pipeline.digest import digest
from pipeline.evaluation import consistency, evaluate
from pipeline.evaluation.settings import ConsistencySettings, EvaluateSettings
from pipeline.stages import STAGES
from pipeline.training import assign, multitask, train
from pipeline.training.commands import add_commands as add_training
from pipeline.training.train import Inputs

SENTENCES, TRANSLATIONS, WORDS = ["en.csv", "de.csv"], ["en-de.csv"], ["en.h5", "de.h5"]
CAPTIONS = ["--sentences", *SENTENCES, "--words", *WORDS]
DATA = [*CAPTIONS, "--translations", *TRANSLATIONS, "--checkpoint", "kept.pt"]
DEMO = configuration.load({"scale": "demo"}, Path(__file__).parents[2] / "config")
NAMED = DEMO, "multi30k", "mule-full", 0


@pytest.fixture(autouse=True)
def _environment_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VISIBLE, "")


def paths(names: list[str]) -> list[Path]:
    return list(map(Path, names))


def given_by(monkeypatch: pytest.MonkeyPatch, module: Any, function: str, *arguments: str) -> tuple[Any, ...]:
    """What a command gives to the function that does its work."""
    given: list[tuple[Any, ...]] = []
    monkeypatch.setattr(module, function, lambda *arguments: given.append(arguments))
    parser = argparse.ArgumentParser()
    stages = parser.add_subparsers()
    add_training(stages)
    parsed = parser.parse_args(arguments)
    parsed.run(parsed)
    (found,) = given
    return found


def test_pretraining_reads_translations_too(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = configuration.pretraining_settings(*NAMED)
    asked = "pretrain", "--settings", chosen.as_json(), *DATA
    inputs, settings, _, *files = given_by(monkeypatch, train, "pretrain", *asked, "--output", "layers.pt")
    assert inputs == Inputs(paths(SENTENCES), paths(TRANSLATIONS), paths(WORDS))
    assert settings == chosen.model_dump()
    assert files == [Path("kept.pt"), Path("layers.pt")]


def test_an_assignment_reads_translations_too(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = configuration.assignment_settings(*NAMED)
    asked = "assign", "--settings", chosen.as_json(), *DATA, "--output", "entries.pt", "--table", "table.csv"
    inputs, _, code, *files = given_by(monkeypatch, assign, "assign", *asked)
    assert inputs == Inputs(paths(SENTENCES), paths(TRANSLATIONS), paths(WORDS))
    assert code == digest("assign")
    assert files == [Path("kept.pt"), Path("entries.pt"), Path("table.csv")]


@pytest.mark.parametrize("pretrained", [["--pretrained", "layers.pt"], ["--pretrained"], []])
def test_a_training_begins_with_what_was_pretrained(
    monkeypatch: pytest.MonkeyPatch, pretrained: list[str]
) -> None:
    asked = "train", "--settings", configuration.train_settings(*NAMED).as_json(), *DATA, *pretrained
    written = "--features", "images.h5", "--curves", "curves.csv", "--output", "model.pt"
    inputs, settings, code, *files = given_by(monkeypatch, train, "train", *asked, *written)
    begun = Path("layers.pt") if "layers.pt" in pretrained else None
    assert inputs == Inputs(paths(SENTENCES), paths(TRANSLATIONS), paths(WORDS), Path("images.h5"), begun)
    assert code == digest("train", parts.of_training(settings)) + digest("evaluate", parts.of_model(settings))
    assert files == [Path("kept.pt"), Path("curves.csv"), Path("model.pt"), None]


@pytest.mark.parametrize("pairs", [["--pairs", "pairs-en.csv", "pairs-de.csv"], ["--pairs"], []])
def test_a_training_of_lessons_pairs_other_captions_where_it_is_told(
    monkeypatch: pytest.MonkeyPatch, pairs: list[str]
) -> None:
    written = *DATA[-2:], "--features", "images.h5", "--curves", "curves.csv", "--output", "model.pt"
    chosen = configuration.lessons_settings(DEMO, "multi30k", "bilingual", 0)
    asked = "train-multitask", "--settings", chosen.as_json(), *CAPTIONS, *pairs, *written
    inputs, paired, _, _, *files = given_by(monkeypatch, multitask, "train_multitask", *asked)
    assert inputs == Inputs(paths(SENTENCES), [], paths(WORDS), Path("images.h5"))
    assert paired == paths(pairs[1:])
    assert files == [Path("kept.pt"), Path("curves.csv"), Path("model.pt")]


@pytest.mark.parametrize(
    ("command", "module", "function", "settings"),
    [
        ("evaluate", evaluate, "evaluate", EvaluateSettings()),
        ("evaluate-consistency", consistency, "evaluate_consistency", ConsistencySettings(kind="average")),
    ],
)
def test_an_evaluation_reads_translated_queries(
    monkeypatch: pytest.MonkeyPatch, command: str, module: Any, function: str, settings: EvaluateSettings
) -> None:
    asked = command, "--settings", settings.as_json(), "--model", "model.pt", "--features", "images.h5"
    queries = *CAPTIONS, "--translated-queries", *TRANSLATIONS
    written = "--output", "test.json", "--ranks", "ranks.csv.gz"
    given: list[dict[str, Any]] = []
    monkeypatch.setattr(module, function, lambda **arguments: given.append(arguments))
    run(STAGES[command], "pipeline", [*asked[1:], *queries, *written])
    assert given == [
        {
            "model": Path("model.pt"),
            "features": Path("images.h5"),
            "words": paths(WORDS),
            "sentences": paths(SENTENCES),
            "translated_queries": paths(TRANSLATIONS),
            "settings": settings,
            "output": Path("test.json"),
            "ranks": Path("ranks.csv.gz"),
        }
    ]
