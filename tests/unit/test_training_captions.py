"""Origins of the captions that a model is trained on, if a data set's own captions are translations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from run_stages import train

from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.models.saved import load_model
from pipeline.training.data import Inputs


def test_own_captions_that_are_translations_are_recorded_as_such(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    """All German captions of the data set are translated from English; the 48 training captions count."""
    english, german = inputs.sentences
    table = read_sentences(german).assign(origin="google", source_language="en")
    write_sentences(table, tmp_path / "de.csv")
    experiment |= {"caption_origins": {"de": "google"}, "translated": ["de"]}
    experiment["training"]["epochs"] = 1
    given = replace(inputs, sentences=[english, tmp_path / "de.csv"])
    written = (tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt"))
    train(given, experiment, "code", *written)
    saved = load_model(tmp_path / "model.pt")[1]
    assert saved.training_captions == {"en": {"human": 96}, "de": {"google": 48}}
    assert saved.training_translations == {"en-de": {"google": 48}}
