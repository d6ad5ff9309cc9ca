"""The candidates of a language are the images captioned in it, for every model, by hand.

image      English     German
a          e1, e2
b          e3          g1, g2
c          e4
d                      g3
f, failed  e5          g4
v, to validate on  e6  g5
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from small import record, saved_settings
from torch import Tensor

from pipeline.datasets.table import caption_table, write_sentences
from pipeline.evaluation import evaluate as evaluation
from pipeline.evaluation.inputs import add_features
from pipeline.evaluation.ranks import mean_recalls
from pipeline.evaluation.settings import Preparation
from pipeline.images.store import write_features
from pipeline.models.model import ModelRecord
from pipeline.models.settings import Model, ModelSettings
from pipeline.report import figures
from pipeline.words.corpus import corpus_of
from pipeline.words.vocabulary import Vocabulary, write_vocabulary

TEXT = {
    "en": {"a": ["e1", "e2"], "b": ["e3"], "c": ["e4"], "f": ["e5"], "v": ["e6"]},
    "de": {"b": ["g1", "g2"], "d": ["g3"], "f": ["g4"], "v": ["g5"]},
}
# Similarity of each sentence to the images a, b, c, d.
SIMILARITY = {
    "en": {
        "e1": [0.6, 0.7, 0.1, 0.9],  # of a: b is nearer; so is d, which English does not caption
        "e2": [0.5, 0.1, 0.2, 0.0],
        "e3": [0.3, 0.4, 0.2, 0.8],  # of b: only d is nearer
        "e4": [0.5, 0.1, 0.3, 0.2],  # of c: a is nearer
        "e5": [9.0, 9.0, 9.0, 9.0],
        "e6": [0.0, 0.0, 0.0, 0.0],
    },
    "de": {
        "g1": [0.9, 0.5, 0.8, 0.1],  # of b: a and c are nearer, which German does not caption
        "g2": [0.0, 0.2, 0.3, 0.6],  # of b: d is nearer; so is c
        "g3": [0.2, 0.4, 0.5, 0.3],  # of d: b is nearer; so is c
        "g4": [9.0, 9.0, 9.0, 9.0],
        "g5": [0.0, 0.0, 0.0, 0.0],
    },
}
GERMAN = [("i2s", "b", 1), ("i2s", "d", 2), ("s2i", "b", 1), ("s2i", "b", 2), ("s2i", "d", 2)]
ENGLISH = [
    ("i2s", "a", 1), ("i2s", "b", 2), ("i2s", "c", 1),
    ("s2i", "a", 2), ("s2i", "a", 1), ("s2i", "b", 1), ("s2i", "c", 2),
]  # fmt: skip


class Lookup:
    """A model that embeds an image as its features and a sentence as the vector of its one word."""

    similarity = "cosine"

    def eval(self) -> None:
        pass

    def count(self) -> dict[str, int]:
        return {"sentences": 0, "images": 0}

    def embed_images(self, features: Tensor) -> Tensor:
        return features

    def embed_sentences(self, sentences: dict[str, Any]) -> SimpleNamespace:
        ((language, part),) = sentences.items()
        vectors = torch.from_numpy(vocabulary(language).vectors)
        return SimpleNamespace(multimodal=vectors[part.ids[:, 0]])


def vocabulary(language: str) -> Vocabulary:
    words, rows = zip(*SIMILARITY[language].items(), strict=True)
    return Vocabulary(language, ["", *words], np.array([[0, 0, 0, 0], *rows], np.float32))


def sentences(rows: Sequence[tuple[str, str, str, str]]) -> pd.DataFrame:
    """Test captions, of v for validation: (image, language, caption, source language)."""
    table = caption_table(
        [
            (image, "val" if image == "v" else "test", language, text, "by" if source else "human", source)
            for image, language, text, source in rows
        ]
    )
    return table.assign(tokens=table["caption"])


def saved_model(languages: list[str]) -> ModelRecord:
    """The record with which a model of some languages was saved."""
    settings = {
        "scale": "demo", "dataset": "d", "experiment": "e", "seed": 0, "languages": languages,
        "caption_origins": {}, "max_caption_length": 5, "features": {},
    }  # fmt: skip
    return record(
        saved_settings(ModelSettings(languages=languages, model=Model()), **settings),
        words={language: vocabulary(language).words for language in languages},
        validation=dict.fromkeys(languages, 100.0),  # one image is for validation
    )


class Project:
    """The files that an evaluation reads, and a lookup in place of a trained model."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder, self.monkeypatch = folder, monkeypatch
        self.features = folder / "features.h5"
        features = np.vstack([np.eye(4), [[0, 0, 1, 1]]])
        write_features(self.features, ["a", "b", "c", "d", "v"], features, {}, failed=["f"])
        for language, of_images in TEXT.items():
            rows = [(image, language, text, "") for image, texts in of_images.items() for text in texts]
            write_sentences(sentences(rows), folder / f"{language}.csv")
            write_vocabulary(vocabulary(language), {}, folder / f"{language}.h5")

    def evaluate_models(
        self, languages: list[str], translated: Sequence[Path] = (), asked: Sequence[str] = ()
    ) -> tuple[dict[str, Any], pd.DataFrame]:
        """The evaluation of a model of some languages, and its ranks."""
        model, saved = Lookup(), saved_model(languages)
        self.monkeypatch.setattr("pipeline.evaluation.embed.load_model", lambda path: (model, saved))
        output, ranks = self.folder / "test.json", self.folder / "ranks.csv.gz"
        read = [self.folder / f"{language}.csv" for language in asked or languages]
        words = [self.folder / f"{language}.h5" for language in languages]
        evaluation.evaluate(
            Path("model.pt"), self.features, words, read, Preparation(), output, ranks, translated
        )
        return json.loads(output.read_text()), pd.read_csv(ranks)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


def ranks_of(table: pd.DataFrame, language: str) -> list[tuple[Any, ...]]:
    chosen = table[table["language"] == language]
    return list(chosen[["direction", "image", "rank"]].itertuples(index=False, name=None))


def test_candidates_are_the_images_captioned_in_the_language(project: Project) -> None:
    result, ranks = project.evaluate_models(["en", "de"])
    assert ranks_of(ranks, "de") == GERMAN
    assert ranks_of(ranks, "en") == ENGLISH
    german, english = result["test"]["de"], result["test"]["en"]
    assert (german["images"], german["sentences"]) == (2, 3)
    assert (english["images"], english["sentences"]) == (3, 4)
    assert german["mR"] == pytest.approx((100 / 2 + 100 / 3 + 4 * 100) / 6)
    # One of three sentences at random is b's with 2/3, d's with 1/3; one of two images is right with 1/2.
    assert german["chance"]["i2s_R@1"] == pytest.approx(50)
    assert german["chance"]["s2i_R@1"] == 50
    assert german["chance"]["mR"] == pytest.approx((50 + 50 + 4 * 100) / 6)


def test_a_monolingual_and_a_multilingual_model_have_the_same_candidates(project: Project) -> None:
    both, of_both = project.evaluate_models(["en", "de"])
    for language, by_hand in (("de", GERMAN), ("en", ENGLISH)):
        alone, of_one = project.evaluate_models([language])
        assert ranks_of(of_one, language) == ranks_of(of_both, language) == by_hand
        assert alone["test"][language] == both["test"][language]


def test_translated_queries_have_the_gallery_of_their_own_language(project: Project) -> None:
    """g1 becomes e3 and g3 becomes e1; g2 has no translation, and image a has no German caption."""
    translated = project.folder / "de-en.csv"
    rows = [
        ("b", "en", "e3", "de"),
        ("d", "en", "e1", "de"),
        ("a", "en", "e2", "de"),
        ("f", "en", "e5", "de"),
        *[("v", "en", "e1", "de")] * 9,  # of validation
    ]
    write_sentences(sentences(rows), translated)
    result, ranks = project.evaluate_models(["en"], [translated], ["en", "de"])
    assert ranks_of(ranks, "de") == [
        ("i2s", "b", 2), ("i2s", "d", 1), ("s2i", "b", 2), ("s2i", "b", 1), ("s2i", "d", 1),
    ]  # fmt: skip
    german = result["test"]["de"]
    assert (german["images"], german["sentences"], german["sentences_without_known_words"]) == (2, 3, 1)
    assert result["query_translations"] == {"de-en": {"by": 2}}  # of b and d
    own = project.evaluate_models(["de"])[0]["test"]["de"]
    assert german["chance"] == own["chance"]


def test_validation_has_the_same_candidates(project: Project) -> None:
    """With the test images as validation split, the mR are the test's."""
    tables = {code: pd.read_csv(project.folder / f"{code}.csv").query("image != 'v'") for code in TEXT}
    words = {code: vocabulary(code) for code in TEXT}
    corpus = corpus_of(tables, words, None, "test")
    add_features(corpus, project.features, saved_model(list(TEXT)).settings.features)
    model: Any = Lookup()
    found = mean_recalls(model, corpus)
    assert found["de"] == pytest.approx((100 / 2 + 100 / 3 + 4 * 100) / 6)
    assert found == {
        code: values["mR"] for code, values in project.evaluate_models(list(TEXT))[0]["test"].items()
    }


def test_a_figure_shows_the_nearest_of_the_languages_own_candidates(project: Project) -> None:
    """The images in each example and the sentence nearest to them, and all images in the order of a query."""
    sentence_of = {("a", "e1"), ("b", "e1"), ("c", "e4"), ("b", "g1"), ("d", "g2")}
    images_of = {
        "e1": "bac", "e2": "acb", "e3": "bac", "e4": "acb",
        "g1": "bd", "g2": "db", "g3": "bd",
    }  # fmt: skip
    project.monkeypatch.setattr(
        "pipeline.evaluation.embed.load_model", lambda path: (Lookup(), saved_model(["en", "de"]))
    )
    shown_sentences, shown_queries = set(), {}
    for seed in range(8):
        output = project.folder / "figure.html"
        words, read = (
            [project.folder / f"{code}.{ending}" for code in ("en", "de")] for ending in ("h5", "csv")
        )
        figures.draw_retrieved(3, Path("model.pt"), project.features, words, read, output, seed=seed)
        examples, queries = output.read_text().split("<h2>The nearest images to a sentence</h2>")
        for example in examples.split('<div class="example">')[1:]:
            (image,) = re.findall(r'class="without">(\w)<', example)
            shown_sentences |= {(image, text) for text in re.findall(r"<span lang=[^>]*>(\w+)<", example)}
        for query in queries.split('<div class="query">')[1:]:
            (text,) = re.findall(r"<blockquote[^>]*>(\w+)<", query)
            shown_queries[text] = "".join(re.findall(r'class="without">(\w)<', query))
            right = text in ("e2", "e3", "g1")
            assert ("✓ right" in query, "✗ wrong" in query) == (right, not right)
    assert shown_sentences == sentence_of
    assert shown_queries == images_of
