"""The smaller vocabularies of SMALR's Figure 3, on few words worked out by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small import record

from pipeline.common.errors import InputError
from pipeline.models.dictionary_embedding import DictionaryEmbedding
from pipeline.models.embedding import Sizes
from pipeline.models.model import count_parameters, load_model, new_model, save_model
from pipeline.models.settings import Model, ModelSettings
from pipeline.settings import reading
from pipeline.words.corpus import Sentences
from pipeline.words.reduce import frequent, mapped_to_english, reduce_vocabulary, with_smaller_vectors
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, vocabulary, write_vocabulary

MODEL = Model(universal_dim=5, multimodal_dim=4, recurrent_init="pytorch", hidden_size=3, image_hidden_size=6)
SETTINGS = ModelSettings(languages=["en", "fr"], model=MODEL, reduction="dictionary-5")
PLAIN = ModelSettings(languages=["en", "fr"], model=MODEL)


def make_vocabulary(language: str, words: list[str], size: int = 3) -> Vocabulary:
    generator = np.random.default_rng(len(words))
    return vocabulary(language, words, {word: generator.normal(size=size) for word in words})


FRENCH = replace(
    make_vocabulary("fr", ["chien", "impériale", "rare", "rouge"]), counts=np.array([0, 9, 4, 1, 5])
)
ENGLISH = make_vocabulary("en", ["bus", "dog", "red"])


def test_words_seen_fewer_times_are_dropped() -> None:
    found = frequent(FRENCH, 5)
    assert (found.language, found.words) == ("fr", ["", "chien", "rouge"])
    assert np.array_equal(found.vectors, FRENCH.vectors[[0, 1, 4]])
    assert found.encode("rouge impériale chien", 9) == [2, 1]
    with pytest.raises(InputError, match="fr: no word is seen 10 times"):
        frequent(FRENCH, 10)


def test_vectors_are_their_coordinates_along_the_directions_of_most_variance() -> None:
    """Points on a line through (1, 2, 0): one number each, their place along (3, 4, 0) / 5."""
    places = np.array([-5.0, 0.0, 10.0])
    vectors = np.array([1.0, 2.0, 0.0]) + places[:, None] * np.array([0.6, 0.8, 0.0])
    whole = vocabulary("fr", ["a", "b", "c"], dict(zip("abc", vectors, strict=True)))
    found = with_smaller_vectors(whole, 1)
    np.testing.assert_allclose(found.vectors[:, 0], [0, *(places - places.mean())], atol=1e-5)
    assert found.vectors.dtype == np.float32 and found.words == whole.words


def mapped_vocabulary() -> Vocabulary:
    candidates = {"impériale": ["double-decker", "bus", "red"], "chien": ["dog"], "rouge": ["red"]}
    return mapped_to_english(FRENCH, 5, ENGLISH, candidates)


def test_rare_words_become_the_first_known_english_word() -> None:
    """impériale (4 times) is bus, not red; rare has no translation and keeps its vector; chien (9) stays."""
    found = mapped_vocabulary()
    assert found.words == ["", "chien", "rare", "rouge", "impériale"]
    assert found.english is not None and found.english.tolist() == [ENGLISH.index["bus"]]
    assert np.array_equal(found.vectors[:4], FRENCH.vectors[[0, 1, 3, 4]]) and not found.vectors[4].any()


def test_the_named_reduction_is_written(tmp_path: Path) -> None:
    write_vocabulary(FRENCH, {}, tmp_path / "fr.h5")
    for reduction, words, size in (
        ("frequency-5", ["", "chien", "rouge"], 3),
        ("pca-2", FRENCH.words, 2),
        ("frequency-5+pca-1", ["", "chien", "rouge"], 1),
    ):
        reduce_vocabulary(tmp_path / "fr.h5", reduction, tmp_path / "new.h5")
        found = read_vocabulary(tmp_path / "new.h5")
        assert (found.language, found.words, found.vectors.shape[1]) == ("fr", words, size)


def test_a_mapping_is_read_back_from_its_file(tmp_path: Path) -> None:
    for part, name in ((FRENCH, "fr"), (ENGLISH, "en")):
        write_vocabulary(part, {}, tmp_path / f"{name}.h5")
    (tmp_path / "en-fr.txt").write_text("bus impériale\ndog chien\n", encoding="utf-8")
    dictionaries = [tmp_path / "en-fr.txt"]
    reduce_vocabulary(
        tmp_path / "fr.h5", "dictionary-5", tmp_path / "new.h5", tmp_path / "en.h5", dictionaries
    )
    found = read_vocabulary(tmp_path / "new.h5")
    assert found.words == ["", "chien", "rare", "rouge", "impériale"]
    assert found.english is not None and found.english.tolist() == [1]
    assert read_vocabulary(tmp_path / "en.h5").english is None


def universal() -> DictionaryEmbedding:
    torch.manual_seed(0)
    vocabularies = {"en": ENGLISH, "fr": mapped_vocabulary()}
    embedding = DictionaryEmbedding(SETTINGS, Sizes.of(vocabularies))
    embedding.begin(vocabularies, {})
    return embedding


def test_a_mapped_word_is_read_with_the_english_words_vector_and_layer() -> None:
    embedding = universal()
    found = embedding.words({"fr": torch.tensor([4, 1])})
    torch.testing.assert_close(found[0], embedding["en"](torch.tensor([1]))[0])
    torch.testing.assert_close(found[1], embedding["fr"](torch.tensor([1]))[0])
    assert embedding["fr"].table.weight.shape == (4, 3)  # no row for it


def test_a_saved_model_reads_mapped_words_as_before(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = new_model(SETTINGS, {"en": ENGLISH, "fr": mapped_vocabulary()}, None, 7).eval()
    save_model(tmp_path / "m.pt", model, record(SETTINGS))
    again = load_model(tmp_path / "m.pt")[0].eval()
    asked = {"fr": Sentences(torch.tensor([[4, 3]]), torch.tensor([2]))}
    assert torch.equal(again.embed_sentences(asked).multimodal, model.embed_sentences(asked).multimodal)
    plain = new_model(PLAIN, {"en": ENGLISH, "fr": FRENCH}, None, 7)
    assert count_parameters(plain) - count_parameters(model) == 3  # one word vector


def test_figure_3_has_the_reductions_of_the_papers_text() -> None:
    """PCA to 50, 100 and 200; the paper's text names the threshold 50, and 5, 10 and 25 are ours."""
    settings = reading.load({"scale": "paper"})
    found = {made.reduction: made for made in settings.experiments.values() if made.reduction}
    assert set(found) == {f"{kind}-{n}" for kind in ("frequency", "dictionary") for n in (5, 10, 25, 50)} | {
        f"pca-{n}" for n in (50, 100, 200)
    }
    whole = settings.experiments["mule-ten"]
    for name, made_of in found.items():
        assert made_of.as_values() == {**whole.as_values(), "reduction": name}
    assert whole.settings["model"]["universal_mean"] == "words"


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"reduction": "pca-50", "vectors": "muse"}, "needs vectors: fasttext; found muse"),
        ({"reduction": "dictionary-5", "languages": ["de"]}, "dictionary-5 reads words as English"),
        (
            {"reduction": "dictionary-5", "settings": {"model": {"universal_mean": "padded"}}},
            "dictionary needs model.universal_mean: words; found padded",
        ),
        ({"reduction": "halved-2"}, "reduction: found 'halved-2'"),
        ({"reduction": "dictionary-5+pca-50"}, r"reduction: found 'dictionary-5\+pca-50'"),
    ],
)
def test_an_impossible_reduction_is_refused(experiment: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reading.load({"scale": "demo", "experiments": {"mule-ten": experiment}})
