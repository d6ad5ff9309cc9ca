"""Each file of a command line reaches its argument; without one, another model would be trained."""

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
from pipeline.training import assign, lessons, pretrain, train

SENTENCES, TRANSLATIONS, WORDS = ["en.csv", "de.csv"], ["en-de.csv"], ["en.h5", "de.h5"]
CAPTIONS = ["--sentences", *SENTENCES, "--words", *WORDS]
DATA = [*CAPTIONS, "--translations", *TRANSLATIONS, "--checkpoint", "kept.pt"]
DEMO = configuration.load({"scale": "demo"}, Path(__file__).parents[2] / "config")
FILES = {
    "sentences": list(map(Path, SENTENCES)),
    "words": list(map(Path, WORDS)),
    "translations": list(map(Path, TRANSLATIONS)),
    "checkpoint": Path("kept.pt"),
}
NAMED = DEMO, "multi30k", "mule-full", 0


@pytest.fixture(autouse=True)
def _environment_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VISIBLE, "")


def paths(names: list[str]) -> list[Path]:
    return list(map(Path, names))


def arguments_of(monkeypatch: pytest.MonkeyPatch, module: Any, stage: str, *words: str) -> dict[str, Any]:
    """The arguments that a command line passes to the function of its stage."""
    calls: list[dict[str, Any]] = []
    function = STAGES[stage].function.partition(":")[2]
    monkeypatch.setattr(module, function, lambda **arguments: calls.append(arguments))
    run(STAGES[stage], "pipeline", words)
    (arguments,) = calls
    return arguments


def test_pretraining_reads_translations_too(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = configuration.pretraining_settings(*NAMED)
    words = "--settings", settings.as_json(), *DATA, "--output", "layers.pt"
    assert arguments_of(monkeypatch, pretrain, "pretrain", *words) == {
        "settings": settings, **FILES, "output": Path("layers.pt"),
        "code": digest("pretrain", parts.of_model(settings), whole=True),
    }  # fmt: skip


def test_an_option_that_is_repeated_adds_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = configuration.pretraining_settings(*NAMED)
    words = "--settings", settings.as_json(), *DATA, "--output", "layers.pt"
    found = arguments_of(monkeypatch, pretrain, "pretrain", *words, "--sentences", "fr.csv", "cs.csv")
    assert found["sentences"] == paths([*SENTENCES, "fr.csv", "cs.csv"])


def test_an_assignment_reads_translations_too(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = configuration.assignment_settings(*NAMED)
    words = "--settings", settings.as_json(), *DATA, "--output", "entries.pt", "--table", "table.csv"
    assert arguments_of(monkeypatch, assign, "assign", *words) == {
        "settings": settings, **FILES, "output": Path("entries.pt"), "table": Path("table.csv"),
        "code": digest("assign", whole=True),
    }  # fmt: skip


@pytest.mark.parametrize("pretrained", [["--pretrained", "layers.pt"], ["--pretrained"], []])
def test_a_training_starts_from_what_was_pretrained(
    monkeypatch: pytest.MonkeyPatch, pretrained: list[str]
) -> None:
    """Its fingerprint includes the code that selects the epoch, so a run never continues with other code."""
    settings = configuration.train_settings(*NAMED)
    written = "--features", "images.h5", "--curves", "curves.csv", "--output", "model.pt"
    words = "--settings", settings.as_json(), *DATA, *pretrained, *written
    used = parts.of_training(settings)
    assert digest("train", used, whole=True) != digest("train", used)
    assert arguments_of(monkeypatch, train, "train", *words) == {
        "settings": settings, **FILES, "pretrained": paths(pretrained[1:]), "features": Path("images.h5"),
        "curves": Path("curves.csv"), "output": Path("model.pt"), "events": None, "steps": [],
        "code": digest("train", used, whole=True),
    }  # fmt: skip


@pytest.mark.parametrize("pairs", [["--pairs", "pairs-en.csv", "pairs-de.csv"], ["--pairs"], []])
def test_a_training_of_lessons_pairs_other_captions_if_configured(
    monkeypatch: pytest.MonkeyPatch, pairs: list[str]
) -> None:
    settings = configuration.lessons_settings(DEMO, "multi30k", "bilingual", 0)
    written = "--features", "images.h5", "--curves", "curves.csv", "--output", "model.pt"
    words = "--settings", settings.as_json(), *CAPTIONS, *DATA[-2:], *pairs, *written
    of_data = {key: value for key, value in FILES.items() if key != "translations"}
    assert arguments_of(monkeypatch, lessons, "train-lessons", *words) == {
        "settings": settings, **of_data, "pairs": paths(pairs[1:]), "features": Path("images.h5"),
        "curves": Path("curves.csv"), "output": Path("model.pt"),
        "code": digest("train-lessons", parts.of_model(settings), whole=True),
    }  # fmt: skip


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
