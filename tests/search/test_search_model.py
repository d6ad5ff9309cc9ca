"""A loaded model: its words, its embeddings, what it searches, and models that cannot search."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from searched import FEATURES, NAMES, WORDS, draw_pictures, make_model

from pipeline.common.errors import InputError
from pipeline.models.model import load_model
from pipeline.words.corpus import Sentences
from search.index import Index
from search.model import SearchModel, load


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SearchModel:
    return make_model(tmp_path_factory.mktemp("model") / "model.pt")


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    return draw_pictures(tmp_path / "photographs", NAMES)


def test_the_language_that_knows_the_largest_share_of_words_is_detected(model: SearchModel) -> None:
    for sentence, language, unknown in (
        ("A dog.", "en", []),
        ("Ein Hund im Park!", "de", ["park"]),
        ("in", "en", []),  # a tie: the first language
        ("xyzzy", "en", ["xyzzy"]),
    ):
        found = model.parse(sentence)
        assert (found.language, found.unknown) == (language, unknown)
    assert model.parse("a dog", "de").unknown == ["a", "dog"]
    with pytest.raises(InputError, match=r"'ja'.*en, de"):
        model.parse("a dog", "ja")


def test_sentences_are_embedded_as_the_trained_model_does(model: SearchModel) -> None:
    trained, record = load_model(model.path)
    texts = {"en": ["A dog runs", "in zebra snow", "zebra"], "de": ["rot", "Ein Hund", "ein hund im schnee"]}
    for code, sentences in texts.items():
        found = model.embed_sentences(sentences, code)
        assert found.shape == (3, 16) and found.dtype == np.float32
        for sentence, vector in zip(sentences, found, strict=True):
            words = [WORDS[code].index(word) for word in sentence.lower().split() if word in WORDS[code]] or [
                0
            ]
            one = Sentences(torch.tensor([words]), torch.tensor([len(words)]))
            with torch.inference_mode():
                expected = trained.eval().embed_sentences({code: one}).multimodal[0].numpy()
            np.testing.assert_allclose(vector, expected, atol=1e-6)
    assert record.words == WORDS
    mixed = model.embed_sentences(["A dog runs", "Ein Hund"])
    np.testing.assert_allclose(mixed[0], model.embed_sentences(["A dog runs"], "en")[0], atol=1e-6)
    np.testing.assert_allclose(mixed[1], model.embed_sentences(["Ein Hund"], "de")[0], atol=1e-6)
    assert model.embed_sentences([], "en").shape == (0, 16)
    with pytest.raises(InputError, match=r"list of sentences"):
        model.embed_sentences("a dog")


def index_of(model: SearchModel, draw: np.random.Generator) -> Index:
    images = model.embed_features(draw.normal(size=(7, 1280))).astype(np.float16)
    texts = ["a dog", "a red car", "snow", "ein Hund", "im Schnee"]
    return Index(
        images=[f"{number}" for number in range(7)],
        files=[""] * 7,
        image_vectors=images,
        model=model.path,
        model_digest=model.digest,
        photographs=None,
        captions=texts,
        languages=["en", "en", "en", "de", "de"],
        caption_images=np.array([0, 1, 1, 4, 6]),
        caption_vectors=model.embed_sentences(texts).astype(np.float16),
    )


def plain_similarity(caption: np.ndarray, image: np.ndarray, kind: str) -> float:
    """For `order` as in Vendrov et al. (2016): the caption is above the image in the order."""
    if kind == "cosine":
        return float(caption @ image)
    return -float(np.square(np.maximum(caption - image, 0)).sum())


@pytest.mark.parametrize("kind", ["cosine", "order"])
def test_each_direction_is_searched_by_the_similarity_of_the_model(tmp_path: Path, kind: str) -> None:
    model = make_model(tmp_path / "model.pt", similarity=kind)
    index = index_of(model, np.random.default_rng(0))
    images, captions = (index.image_vectors.astype(np.float32), index.caption_vectors.astype(np.float32))
    texts = ["a dog runs", "ein roter Hund im Schnee"]
    queries = model.embed_sentences(texts)
    found = model.search(index, sentences=texts, top_k=4)
    for query, rows, scores in zip(queries, found.rows, found.scores, strict=True):
        expected = [plain_similarity(query, image, kind) for image in images]
        assert rows.tolist() == sorted(range(7), key=lambda row: -expected[row])[:4]
        np.testing.assert_allclose(scores, np.array(expected)[rows], atol=1e-5)
    found = model.neighbours(index, images[2:3], "images", "captions", 5)
    expected = [plain_similarity(caption, images[2], kind) for caption in captions]
    assert found.rows[0].tolist() == sorted(range(5), key=lambda row: -expected[row])
    found = model.neighbours(index, images[2:3], "images", "images", 7)  # by cosine, whatever the model
    assert found.rows[0].tolist() == np.argsort(-(images @ images[2]), kind="stable").tolist()


def test_queries_that_cannot_be_answered_are_refused(model: SearchModel, tmp_path: Path) -> None:
    index = index_of(model, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"'zebra xyzzy': none of its words"):
        model.search(index, sentences=["a dog", "zebra xyzzy"])
    with pytest.raises(InputError, match="either sentences or images"):
        model.search(index)
    other = make_model(tmp_path / "other.pt", seed=1)
    with pytest.raises(InputError, match=r"another model than .*other\.pt"):
        other.search(index, sentences=["a dog"])


@pytest.mark.parametrize(
    "changes",
    [
        {"words": {"en": WORDS["en"]}},  # German is read as whole captions: BERT
        {"settings": {"lessons": {"hinge": "max"}}},
    ],
    ids=["BERT", "Lessons"],
)
def test_a_model_that_reads_no_word_vectors_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"model\.pt: cannot be searched with"):
        make_model(tmp_path / "model.pt", **changes)


def test_other_versions_of_a_tokeniser_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_model(tmp_path / "model.pt", tokenizers={"de": {"sacremoses": "0.0.1"}})
    assert re.search(r"de: tokenised by .*0\.0\.1.* in training, here by", caplog.text)


def test_photographs_need_the_weights_of_the_training(photographs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="imported features"):
        make_model(tmp_path / "model.pt", features={}).embed_images([photographs / "one.jpg"])
    with pytest.raises(InputError, match=r"other weights than in training"):
        make_model(tmp_path / "model.pt", features={**FEATURES, "weights_sha256": "0" * 64}).embed_images(
            [photographs / "one.jpg"]
        )
    with pytest.raises(InputError, match=r"mine\.pth"):
        load(tmp_path / "model.pt", weights=tmp_path / "mine.pth").embed_images([photographs / "one.jpg"])
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"broken\.jpg.*\n.*missing\.jpg"):
        make_model(tmp_path / "model.pt").embed_images(
            [tmp_path / "broken.jpg", photographs / "one.jpg", tmp_path / "missing.jpg"]
        )


def test_a_photograph_is_embedded_as_its_features(model: SearchModel, photographs: Path) -> None:
    """Alone and among others, from a path, a text or an open file."""
    paths = sorted(path for path in photographs.rglob("*") if path.is_file())
    together = model.embed_images(paths)
    assert together.shape == (6, 16)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for row, path in enumerate(paths):
        np.testing.assert_allclose(model.embed_images([str(path)])[0], together[row], atol=1e-4)
    with open(paths[3], "rb") as file:
        np.testing.assert_allclose(model.embed_images([file])[0], together[3], atol=1e-4)
    assert model.embed_images([]).shape == (0, 16)
