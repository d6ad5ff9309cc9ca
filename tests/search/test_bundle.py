"""Bundles of small trained models: cosine and order, shared and separate layers, imported features."""

import copy
import errno
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from run_stages import train

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_folder
from pipeline.datasets.table import caption_table, write_captions
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.settings import EvaluateSettings
from pipeline.images.settings import ExtractionSettings
from pipeline.images.store import read_store, write_features
from pipeline.training.data import Inputs
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary
from search import load, open_index
from search.build_index import write_index
from search.bundle import BACKBONE_KEYS
from search.contents import image_ids, images_of_split, photographs_listed, sentences_of
from search.model import SearchModel
from search.write_bundle import write_bundle

KINDS = {
    "cosine": {},
    "order": {"model": {"similarity": "order"}},
    "shared layers": {"model": {"universal_layers": "shared", "recurrent": "mean"}},
}


def trained_bundle(inputs: Inputs, settings: dict[str, Any], folder: Path) -> Path:
    """A model's bundle."""
    model, evaluation, ranks = folder / "model.pt", folder / "test.json", folder / "ranks.csv.gz"
    train(inputs, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", model)
    assert inputs.features
    evaluate(model, inputs.features, inputs.words, inputs.sentences, EvaluateSettings(), evaluation, ranks)
    output = folder / "bundle"
    write_bundle(model, inputs.features, inputs.words, inputs.sentences, evaluation, output)
    return output


@pytest.fixture(params=list(KINDS))
def model(
    request: pytest.FixtureRequest, inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> SearchModel:
    settings = copy.deepcopy(experiment)
    settings["training"]["epochs"] = 3
    settings["model"] |= KINDS[request.param].get("model", {})
    return load(trained_bundle(inputs, settings, tmp_path))


one_is_enough = pytest.mark.parametrize("model", ["cosine"], indirect=True)


def similarity(sentences: np.ndarray, images: np.ndarray, kind: str) -> np.ndarray:
    """Similarities (B, n) in a plain loop; for `order` as in Vendrov et al. (2016)."""
    if kind == "cosine":
        return np.asarray(sentences @ images.T)
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
    write_index(model, tmp_path / "index", photographs_listed(images, {}, None), inputs.features, sentences)
    index = open_index(tmp_path / "index")
    seen, sentence_vectors = model.embed_features(features), model.embed_sentences(texts, "en")
    np.testing.assert_allclose(index.image_vectors, seen, atol=1e-3)
    expected = similarity(sentence_vectors, seen, model.network.similarity)

    found = model.images_of_sentences(index, sentence_vectors, 5)
    np.testing.assert_allclose(found.scores, -np.sort(-expected, axis=1)[:, :5], atol=2e-3)
    for row, places in enumerate(found.rows):
        np.testing.assert_allclose(expected[row, places], found.scores[row], atol=2e-3)
    found = model.sentences_of_images(index, seen, 4)
    for row, places in enumerate(found.rows):
        np.testing.assert_allclose(expected[places, row], found.scores[row], atol=2e-3)
        assert sorted(places) == [0, 1, 2, 3]
    found = model.images_of_images(index, seen, 1)
    np.testing.assert_allclose(found.scores, 1, atol=2e-3)  # each image finds itself, by the cosine


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
    trained_bundle(inputs, experiment, tmp_path)
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
            tmp_path / "b",
        )


def test_no_other_folder_is_replaced(inputs: Inputs, experiment: dict[str, Any], tmp_path: Path) -> None:
    experiment["training"]["epochs"] = 1
    made = trained_bundle(inputs, experiment, tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")

    def write(output: Path) -> None:
        assert inputs.features
        files = tmp_path / "model.pt", inputs.features, inputs.words, inputs.sentences, tmp_path / "test.json"
        write_bundle(*files, output)

    with pytest.raises(InputError, match=r"already exists and has no model\.json"):
        write(tmp_path / "mine")
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"
    before = (made / "model.json").read_bytes()
    write(made)  # an earlier bundle is replaced
    assert (made / "model.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_ranks_of_another_evaluation_are_refused(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    experiment["training"]["epochs"] = 1
    made = trained_bundle(inputs, experiment, tmp_path)
    before = (made / "model.json").read_bytes()
    ranks = tmp_path / "ranks.csv.gz"
    content = ranks.read_bytes()
    ranks.unlink()
    ranks.write_bytes(content + b" ")
    assert inputs.features
    files = tmp_path / "model.pt", inputs.features, inputs.words, inputs.sentences, tmp_path / "test.json"
    with pytest.raises(InputError, match=r"ranks\.csv\.gz: does not match .*test\.json"):
        write_bundle(*files, made)
    assert (made / "model.json").read_bytes() == before


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_replacement_that_fails_leaves_the_earlier_folder(
    fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever rename fails: of the earlier folder to another name, or of the new folder into its place."""
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
        with atomic_folder(tmp_path / "bundle", "mark") as folder:
            (folder / "mark").write_text("new")

    with pytest.raises(OSError, match="the disk is gone"):
        write()
    assert (tmp_path / "bundle/mark").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_bundle_records_how_features_are_extracted() -> None:
    assert set(ExtractionSettings.model_fields) <= set(BACKBONE_KEYS)


def _index(model: SearchModel, features: Path, output: Path) -> None:
    images = read_store(features)[0]
    write_index(model, output, photographs_listed(images, {}, None), features, [(images[0], "en", "dog")])


@one_is_enough
def test_features_of_another_network_or_other_crops_are_refused(
    model: SearchModel, inputs: Inputs, tmp_path: Path
) -> None:
    """They have the same width, so only the store's attributes tell them apart."""
    assert inputs.features
    images, features, _ = read_store(inputs.features)
    store, output = tmp_path / "given.h5", tmp_path / "index"
    model.bundle.backbone.update(crops=10, mean=[0.5, 0.5, 0.5], precision="float32")

    def index_of(attributes: dict[str, Any]) -> None:
        write_features(store, images, features, attributes)
        _index(model, store, output)

    others: list[dict[str, Any]] = [
        {"backbone": "eight other things"},
        {"backbone": "eight"},
        {"backbone": "eight things", "crops": 1},
        {"backbone": "eight things", "mean": [0.5, 0.5, 0.25]},
    ]
    alike: list[dict[str, Any]] = [
        {"backbone": "eight things (on a GPU)"},
        {"backbone": np.bytes_("eight things")},
        {"backbone": "none named"},
        {},
        {"backbone": "eight things", "precision": "bfloat16"},
    ]
    for attributes in others:
        with pytest.raises(InputError, match="not features as the model was trained on"):
            index_of(attributes)
        assert not output.exists()
    for attributes in alike:
        index_of(attributes)
        assert open_index(output).images == images
    model.bundle.backbone["backbone"] = "eight things (drawn)"
    index_of({"backbone": "eight things"})
    with pytest.raises(InputError, match=r"found 'eight things \(painted\)', expected 'eight things \(drawn"):
        index_of({"backbone": "eight things (painted)"})
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["image"] = ["a"]
    with pytest.raises(InputError, match="dataset features is missing"):
        write_index(model, output, photographs_listed(["a"], {}, None), tmp_path / "other.h5")


@one_is_enough
def test_indexing_again_mends_a_damaged_file(model: SearchModel, inputs: Inputs, tmp_path: Path) -> None:
    assert inputs.features
    _index(model, inputs.features, tmp_path / "index")
    files = sorted((tmp_path / "index").glob("*-*"))
    assert len(files) == 4
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(InputError, match="changed since it was written"):
            open_index(tmp_path / "index")
        _index(model, inputs.features, tmp_path / "index")
        assert file.read_bytes() == whole
        open_index(tmp_path / "index")
    assert sorted((tmp_path / "index").glob("*-*")) == files


SEVERAL = "Several:"


def test_names_refer_to_images_with_or_without_folder_and_ending() -> None:
    images = ["even/a.jpg", "odd/b.png", "even/c.jpg", "odd/c.png", "d", "even/caf\u00e9.jpg", "x/e.v2.jpg"]
    meant = {
        "a": "even/a.jpg",
        "a.jpg": "even/a.jpg",
        "even/a": "even/a.jpg",
        "b.jpeg": "odd/b.png",
        "even/c.jpg": "even/c.jpg",
        "odd/c": "odd/c.png",
        "d": "d",
        "photos/d.jpg": "d",
        "cafe\u0301": "even/caf\u00e9.jpg",
        "e.v2": "x/e.v2.jpg",
    }
    assert image_ids([*meant, "f", "odd/a.jpg", "e"], images, SEVERAL) == meant
    with pytest.raises(InputError, match=r"Several:.*\n.*c: even/c.jpg, odd/c.png"):
        image_ids(["a", "c"], images, SEVERAL)


def test_a_split_and_captions_may_name_images_differently(tmp_path: Path) -> None:
    assert images_of_split(["x/b.jpg", "x/a.jpg", "x/c.jpg"], {"a", "b.jpg"}, "split.csv:test") == [
        "x/b.jpg",
        "x/a.jpg",
    ]
    with pytest.raises(InputError, match="none of its 1 images is among the 2 found"):
        images_of_split(["a", "b"], {"c"}, "split.csv:test")
    rows = [
        ("x/a.jpg", "test", "en", "a dog", "human", ""),
        ("c", "train", "en", "a cat", "human", ""),
        ("x/a.jpg", "test", "de", "ein Hund", "human", "en"),
        ("x/a.jpg", "test", "de", "ein hund", "google", "en"),
        ("x/a.jpg", "test", "ja", "inu", "google", "en"),
    ]
    table = tmp_path / "captions.csv"
    write_captions(caption_table(rows), table)
    english, german, machine = ("a", "en", "a dog"), ("a", "de", "ein Hund"), ("a", "de", "ein hund")
    japanese = ("a", "ja", "inu")
    everything = [english, ("c", "en", "a cat"), german, machine, japanese]
    assert sentences_of([table], ["a"]) == everything
    assert sentences_of([table], ["a"], indexed_only=True) == [english, german, machine, japanese]
    own = sentences_of([table], ["a"], True, {"ja": "google", "ru": "human"})
    assert own == [english, german, japanese]
    with pytest.raises(
        InputError, match="ja: found captions of origin google; its original captions are of human"
    ):
        sentences_of([table], ["a"], origins={})
    with pytest.raises(InputError, match="no sentence belongs to an indexed image"):
        sentences_of([table], ["b"], indexed_only=True)
    assert sentences_of([], ["a"], True, {}) == []


def test_devices(inputs: Inputs, experiment: dict[str, Any], tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match="no GPU is visible"):
        load(tmp_path, device="cuda")
