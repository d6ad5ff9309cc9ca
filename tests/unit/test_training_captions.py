"""The captions that a model is trained on: their origins, and a known word in each."""

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from run_stages import block_of, train

from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.evaluation.inputs import evaluation_corpus
from pipeline.images.store import store_attributes
from pipeline.models.model import load_model
from pipeline.training.data import Inputs, training_data
from pipeline.training.settings import TrainSettings
from pipeline.words.vocabulary import read_vocabulary


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
    assert given.features
    saved = load_model(tmp_path / "model.pt")[1]
    assert saved.training_captions == {"en": {"human": 96}, "de": {"google": 48}}
    assert saved.training_translations == {"en-de": {"google": 48}}
    assert saved.words == {path.stem: read_vocabulary(path).words for path in inputs.words}
    assert saved.features == store_attributes(given.features)
    assert saved.tokenizers["de"] == {"sacremoses": version("sacremoses")}


def test_a_caption_without_a_known_word_is_a_query_but_not_trained_on(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One of two English captions of a training and of a validation image; another has one known word."""
    english, german = inputs.sentences
    table = read_sentences(english)
    unknown = [table.index[table["split"] == split][4] for split in ("train", "val")]
    table.loc[unknown, "tokens"] = "quux quux"
    table.loc[table.index[table["split"] == "train"][7], "tokens"] = "quux dog"
    write_sentences(table, tmp_path / "en.csv")
    given = replace(inputs, sentences=[tmp_path / "en.csv", german])
    settings = block_of(TrainSettings, experiment)
    found = training_data(given, settings)
    counts = {code: len(captions.image) for code, captions in found.corpus.languages.items()}
    assert counts == {"en": 95, "de": 48}
    validation = evaluation_corpus(found.originals, found.vocabularies, settings, "val")
    assert len(validation.languages["en"].image) == 24
    assert "en: 1 training captions without a known word are left out" in caplog.text


def test_images_are_grouped_by_their_own_captions(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    """28 of 48 training images have German captions only in translation."""
    german, own, translated = read_sentences(inputs.sentences[1]), tmp_path / "de.csv", tmp_path / "en-de.csv"
    is_own = german["image"].str.match("train[01]|val|test")
    write_sentences(german[is_own], own)
    write_sentences(german[~is_own].assign(origin="google", source_language="en"), translated)
    experiment |= {"captions": "human+mt", "groups": [["en"], ["en", "de"]]}
    given = replace(inputs, sentences=[inputs.sentences[0], own], translations=[translated])
    found = training_data(given, block_of(TrainSettings, experiment))
    assert [len(group) for group in found.batches.groups] == [28, 20]
