"""Vocabularies: their words, their file, the encoding of sentences, and the command that makes them."""

import json
from pathlib import Path

import fasttext
import h5py
import numpy as np
import pytest

from pipeline.cli import run
from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.stages import STAGES
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, vocabulary, word_counts, write_vocabulary

VECTORS = {word: np.full(2, row, np.float32) for row, word in enumerate(["dog", "löwe", "狗"], 1)}


def test_words_with_a_vector_after_padding() -> None:
    counts = word_counts(["a Dog löwe", "dog 狗"])
    assert list(counts.items()) == [("a", 1), ("dog", 2), ("löwe", 1), ("狗", 1)]
    made = vocabulary("de", list(counts), VECTORS, counts)
    assert made.counts is not None and made.counts.tolist() == [0, 2, 1, 1]
    assert made.words == ["", "dog", "löwe", "狗"]
    assert made.vectors.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    with pytest.raises(InputError, match=r"None of the 1 words"):
        vocabulary("de", ["cat"], VECTORS)


def test_encoding_drops_unknown_words_then_truncates() -> None:
    made = vocabulary("de", sorted(VECTORS), VECTORS)
    assert made.encode("a dog 狗 of löwe dog", longest=3) == [1, 3, 2]
    assert made.encode("of a", longest=3) == made.encode("", longest=3) == []


def test_a_vocabulary_survives_its_file(tmp_path: Path) -> None:
    made = vocabulary("de", sorted(VECTORS), VECTORS)
    write_vocabulary(made, {"vectors": "trained"}, tmp_path / "words.h5")
    read = read_vocabulary(tmp_path / "words.h5")
    assert read.words == made.words
    assert read.vectors.dtype == np.float32
    np.testing.assert_array_equal(read.vectors, made.vectors)


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    rows = [
        ("1", "train", "de", "Ein Hund läuft.", "human", ""),
        ("2", "test", "de", "Zebras!", "human", ""),
        ("3", "val", "de", "Giraffen!", "human", ""),
        ("1", "train", "en", "Dogs", "human", ""),
    ]
    write_sentences(with_tokens(caption_table(rows), "de"), tmp_path / "sentences.csv")
    return tmp_path / "sentences.csv"


def _run(*arguments: object, command: str = "build-vocabulary") -> None:
    run(STAGES[command], list(map(str, arguments)))


def _command(sentences: Path, *more: object, **settings: object) -> Vocabulary:
    output = sentences.with_name("words.h5")
    common = ("--sentences", sentences, "--language", "de", "--output", output)
    _run(
        *common,
        "--settings",
        json.dumps({"dimension": 5, "tokens": 1, "subword_buckets": 50} | settings),
        *more,
    )
    return read_vocabulary(output)


def test_the_command_reads_only_training_captions_of_the_language(sentences: Path) -> None:
    made = _command(sentences)
    assert made.words == ["", "ein", "hund", "läuft"]
    assert made.vectors.shape == (4, 5)
    assert np.abs(made.vectors[1:]).sum(axis=1).all()
    with h5py.File(sentences.with_name("words.h5")) as file:
        attributes = dict(file.attrs)
    assert json.loads(attributes.pop("settings"))["tokens"] == 1
    assert attributes.pop("fasttext")
    assert attributes == {"language": "de", "unit": "word", "vectors": "trained"}


def test_the_command_uses_translations_as_requested(sentences: Path) -> None:
    translations = sentences.with_name("en-de.csv")
    table = caption_table([("1", "train", "de", "Eine Katze.", "google", "en")])
    write_sentences(with_tokens(table, "de"), translations)
    options = ("--translations", translations, "--captions")
    assert _command(sentences, *options, "mt").words == ["", "eine", "katze"]
    both = _command(sentences, *options, "human+mt")
    assert both.words == ["", "ein", "eine", "hund", "katze", "läuft"]
    assert both.counts is not None and both.counts.tolist() == [0, 1, 1, 1, 1, 1]
    assert _command(sentences, *options, "human").words == ["", "ein", "hund", "läuft"]


def test_vectors_of_other_text_exist_for_exactly_the_words_of_the_captions(sentences: Path) -> None:
    """`läuft` occurs only in the captions: its vector comes from its subwords."""
    text, model = sentences.with_name("text.csv"), sentences.with_name("de.bin")
    rows = [(str(image), "train", "de", "Ein Hund rennt weg.", "human", "") for image in range(7, 10)]
    write_sentences(with_tokens(caption_table(rows), "de"), text)
    settings = {"dimension": 5, "tokens": 1, "subword_buckets": 50, "vectors": "multi30k"}
    made_of = ("--language", "de", "--sentences", text, "--settings", json.dumps(settings))
    _run(*made_of, "--output", model, command="train-word-vectors")
    made = _command(sentences, "--vectors-file", model, vectors="multi30k")
    assert made.words == ["", "ein", "hund", "läuft"]
    expected = fasttext.load_model(str(model))
    for word in made.words[1:]:
        assert made.vectors[made.index[word]].tolist() == expected.get_word_vector(word).tolist()
    with pytest.raises(InputError, match=r"de.bin: has 5 dimensions; the setting `dimension` is 6"):
        _command(sentences, "--vectors-file", model, vectors="multi30k", dimension=6)


def test_vectors_are_trained_only_on_own_captions_and_also_used_for_translations(sentences: Path) -> None:
    """Rows of a table that differ in translations must not differ in their initial vectors too."""
    model, translations = sentences.with_name("de.bin"), sentences.with_name("en-de.csv")
    table = caption_table([("1", "train", "de", "Eine Katze läuft.", "google", "en")])
    write_sentences(with_tokens(table, "de"), translations)
    settings = json.dumps({"dimension": 5, "tokens": 1, "subword_buckets": 50})
    made = ("--language", "de", "--sentences", sentences, "--settings", settings, "--output", model)
    _run(*made, command="train-word-vectors")
    assert sorted(set(fasttext.load_model(str(model)).words) - {"</s>"}) == ["ein", "hund", "läuft"]
    human = _command(sentences, "--vectors-file", model)
    both = ("--translations", translations, "--captions", "human+mt")
    added = _command(sentences, "--vectors-file", model, *both)
    assert set(added.words) - set(human.words) == {"eine", "katze"}
    for word in human.words[1:]:
        np.testing.assert_array_equal(added.vectors[added.index[word]], human.vectors[human.index[word]])


def test_the_command_names_what_is_missing(sentences: Path) -> None:
    with pytest.raises(InputError, match=r"no captions in 'fr'.*'de', 'en'"):
        _run("--sentences", sentences, "--language", "fr", "--output", "x.h5", "--settings", "{}")
