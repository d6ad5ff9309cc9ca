"""Bundles of small trained models: cosine and order, shared and separate layers, imported features."""

import copy
import errno
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.errors import InputError
from pipeline.images.settings import ExtractionSettings
from pipeline.images.store import read_store, write_features
from pipeline.retrieval.evaluate import evaluate
from pipeline.search import load, open_index
from pipeline.search.bundle import BACKBONE, write_bundle
from pipeline.search.folders import folder_written_beside
from pipeline.search.index import build_index, photographs_listed, photographs_named
from pipeline.search.model import SearchModel
from pipeline.training.train import Inputs, train
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary

KINDS = {
    "cosine": {},
    "order": {"model": {"similarity": "order"}},
    "shared layers": {"model": {"universal_layers": "shared", "recurrent": "mean"}},
}


def trained(inputs: Inputs, settings: dict[str, Any], folder: Path) -> Path:
    """A model's bundle."""
    model, evaluation, ranks = folder / "model.pt", folder / "test.json", folder / "ranks.csv.gz"
    train(inputs, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", model)
    assert inputs.features
    evaluate(model, inputs.features, inputs.words, inputs.sentences, [], {"threads": 1}, evaluation, ranks)
    output = folder / "bundle"
    write_bundle(model, inputs.features, inputs.words, inputs.sentences, evaluation, [], output)
    return output


@pytest.fixture(params=list(KINDS))
def model(
    request: pytest.FixtureRequest, inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> SearchModel:
    settings = copy.deepcopy(experiment)
    settings["training"]["epochs"] = 3
    settings["model"] |= KINDS[request.param].get("model", {})
    return load(trained(inputs, settings, tmp_path))


def similarity(sentences: np.ndarray, images: np.ndarray, kind: str) -> np.ndarray:
    """(B, n), as Vendrov et al. (2016) have it for order, a plain loop."""
    if kind == "cosine":
        return sentences @ images.T
    pairs = [
        [-sum(max(0.0, float(a - b)) ** 2 for a, b in zip(s, i, strict=True)) for i in images]
        for s in sentences
    ]
    return np.array(pairs)


def test_each_direction_is_searched_by_the_similarity_of_the_model(
    model: SearchModel, inputs: Inputs, tmp_path: Path
) -> None:
    assert inputs.features
    images, features, _ = read_store(inputs.features)
    texts = ["dog cat", "car", "tree house bird", "boat and horse"]
    sentences = [(images[place], "en", text) for place, text in enumerate(texts)]
    build_index(model, tmp_path / "index", photographs_listed(images, {}, None), inputs.features, sentences)
    index = open_index(tmp_path / "index")
    seen, said = model.embed_features(features), model.embed_sentences(texts, "en")
    np.testing.assert_allclose(index.image_vectors, seen, atol=1e-3)
    expected = similarity(said, seen, model.model.similarity)

    found = model.images_of_sentences(index, said, 5)
    np.testing.assert_allclose(found.scores, -np.sort(-expected, axis=1)[:, :5], atol=2e-3)
    for row, places in enumerate(found.rows):
        np.testing.assert_allclose(expected[row, places], found.scores[row], atol=2e-3)
    found = model.sentences_of_images(index, seen, 4)
    for row, places in enumerate(found.rows):
        np.testing.assert_allclose(expected[places, row], found.scores[row], atol=2e-3)
        assert sorted(places) == [0, 1, 2, 3]
    found = model.images_of_images(index, seen, 1)
    np.testing.assert_allclose(found.scores, 1, atol=2e-3)  # itself, by the cosine


def test_photographs_need_a_backbone(model: SearchModel, tmp_path: Path) -> None:
    assert not model.reads_photographs
    with pytest.raises(InputError, match="trained on imported features"):
        model.embed_images([tmp_path / "dog.jpg"])
    with pytest.raises(InputError, match=r"found shape \(2, 9\), expected \(n, 8\)"):
        model.embed_features(np.zeros((2, 9)))


def test_a_sentence_without_known_words_is_padding(
    model: SearchModel, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = model.embed_sentences(["xyzzy", "plugh foo"], "en")
    assert np.array_equal(one, other)
    assert np.isfinite(one).all()
    assert "2 of 2 sentences have no word that the model knows" in caplog.text


def test_a_model_that_reads_sentence_vectors_is_not_bundled(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment["training"]["epochs"] = 1
    trained(inputs, experiment, tmp_path)
    words = []
    for path in inputs.words:
        vocabulary = read_vocabulary(path)
        whole = Vocabulary(vocabulary.language, vocabulary.words, vocabulary.vectors, "caption")
        words.append(tmp_path / path.name)
        write_vocabulary(whole, {}, words[-1])
    assert inputs.features
    with pytest.raises(InputError, match="reads frozen sentence vectors of a BERT"):
        write_bundle(
            tmp_path / "model.pt",
            inputs.features,
            words,
            inputs.sentences,
            tmp_path / "test.json",
            [],
            tmp_path / "b",
        )


def test_no_other_folder_is_replaced(inputs: Inputs, experiment: dict[str, Any], tmp_path: Path) -> None:
    experiment["training"]["epochs"] = 1
    made = trained(inputs, experiment, tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")

    def write(output: Path) -> None:
        assert inputs.features
        files = tmp_path / "model.pt", inputs.features, inputs.words, inputs.sentences, tmp_path / "test.json"
        write_bundle(*files, [], output)

    with pytest.raises(InputError, match=r"already exists and has no model\.json"):
        write(tmp_path / "mine")
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"
    before = (made / "model.json").read_bytes()
    write(made)  # its own is
    assert (made / "model.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_replacement_that_fails_leaves_the_earlier_folder(
    fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At either of the two renames: the earlier folder to its side, the new one into its place."""
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/mark").write_text("earlier")
    renames: list[Path] = []
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        renames.append(target)
        if len(renames) == fails_at:
            raise OSError(errno.EIO, "the disk is gone")
        replace(source, target)

    monkeypatch.setattr("os.replace", failing)

    def write() -> None:
        with folder_written_beside(tmp_path / "bundle", "mark") as folder:
            (folder / "mark").write_text("new")

    with pytest.raises(OSError, match="the disk is gone"):
        write()
    assert (tmp_path / "bundle/mark").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_bundle_says_all_of_how_features_are_extracted() -> None:
    assert {field.name for field in fields(ExtractionSettings)} <= set(BACKBONE)


def _index(model: SearchModel, features: Path, output: Path) -> None:
    images = read_store(features)[0]
    build_index(model, output, photographs_listed(images, {}, None), features, [(images[0], "en", "dog")])


def test_features_of_another_network_are_refused(model: SearchModel, inputs: Inputs, tmp_path: Path) -> None:
    """Of the same width, so that nothing but what the store says of itself tells them apart."""
    assert inputs.features
    images, features, _ = read_store(inputs.features)
    write_features(tmp_path / "other.h5", images, features, {"backbone": "eight other things"})
    with pytest.raises(InputError, match="backbone: found 'eight other things', expected 'eight things'"):
        _index(model, tmp_path / "other.h5", tmp_path / "index")
    assert not (tmp_path / "index").exists()
    write_features(tmp_path / "same.h5", images, features, {"backbone": "eight things (on a GPU)"})
    _index(model, tmp_path / "same.h5", tmp_path / "index")
    model.bundle.backbone["crops"] = 10
    write_features(tmp_path / "one.h5", images, features, {"backbone": "eight things", "crops": 1})
    with pytest.raises(InputError, match="crops: found 1, expected 10"):
        _index(model, tmp_path / "one.h5", tmp_path / "index")


@pytest.mark.parametrize("name", ["images-*.npy", "images-*.csv", "sentences-*.npy", "sentences-*.csv"])
def test_indexing_again_mends_a_damaged_file(
    name: str, model: SearchModel, inputs: Inputs, tmp_path: Path
) -> None:
    assert inputs.features
    _index(model, inputs.features, tmp_path / "index")
    (file,) = (tmp_path / "index").glob(name)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="changed since it was written"):
        open_index(tmp_path / "index")
    _index(model, inputs.features, tmp_path / "index")
    assert file.read_bytes() == whole
    open_index(tmp_path / "index")
    assert len(list((tmp_path / "index").iterdir())) == 6  # four files, the index and its lock


def test_captions_name_photographs_by_path_or_without_folder_and_ending() -> None:
    images = ["even/a.jpg", "odd/b.png", "even/c.jpg", "odd/c.png", "d"]
    meant = {"a": "even/a.jpg", "b": "odd/b.png", "even/c.jpg": "even/c.jpg", "d": "d"}
    assert photographs_named([*meant, "e", "e.jpg"], images) == meant
    with pytest.raises(InputError, match=r"c: even/c.jpg, odd/c.png"):
        photographs_named(["a", "c"], images)


def test_devices(inputs: Inputs, experiment: dict[str, Any], tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match="no GPU is visible"):
        load(tmp_path, device="cuda")
