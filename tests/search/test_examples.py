"""What the first screen shows: kinds of images, random images, captions that the model can search with."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.words.vocabulary import PADDING, Vocabulary
from search.examples import example_images, example_queries, kind_of_images
from search.index import Index
from search.language_detection import detect_language

WORDS = {"en": ["a", "dog", "and", "cat", "runs"], "de": ["ein", "hund", "und", "katze", "rot"]}


def model(scale: str = "paper") -> Any:
    vocabularies = {
        code: Vocabulary(code, [PADDING, *words], np.zeros((len(words) + 1, 0), np.float32))
        for code, words in WORDS.items()
    }
    settings = SimpleNamespace(scale=scale, dataset="multi30k")
    return SimpleNamespace(
        bundle=SimpleNamespace(record=SimpleNamespace(settings=settings)),
        languages=list(vocabularies),
        parse=lambda sentence: detect_language(sentence, vocabularies),
    )


def index(images: list[str], files: list[str], sentences: list[tuple[str, str, str]] | None = None) -> Index:
    none = np.zeros((0, 2), np.float16)
    return Index(Path(), images, files, none, sentences or [], none, None, None, Path(), "")


@pytest.mark.parametrize(
    ("scale", "images", "files", "kind"),
    [
        ("demo", ["multi30k-0001", "multi30k-12345"], ["a.jpg", ""], "scenes"),
        ("demo", ["below/multi30k-0001.jpg"], ["below/multi30k-0001.jpg"], "scenes"),
        ("demo", ["multi30k-0001", "dog"], ["a.jpg", "dog.jpg"], "photographs"),  # a user's photographs
        ("demo", ["mscoco-0001"], ["mscoco-0001.jpg"], "photographs"),
        ("paper", ["multi30k-0001"], ["a.jpg"], "photographs"),
        ("paper", ["1000", "2000"], ["", "2000.jpg"], "photographs"),
        ("paper", ["1000", "2000"], ["", ""], "images"),
    ],
)
def test_images_are_called_photographs_scenes_or_images(
    scale: str, images: list[str], files: list[str], kind: str
) -> None:
    assert kind_of_images(model(scale), index(images, files)) == kind


def test_images_with_a_file_are_shown_and_differ_at_each_visit() -> None:
    names = [f"{number}" for number in range(100)]
    half = index(names, ["file" if number % 2 else "" for number in range(100)])
    draw = random.Random(0)
    first, second = (example_images(half, draw) for _ in range(2))
    assert len(set(first)) == len(set(second)) == 12
    assert all(row % 2 for row in first + second)
    assert set(first) != set(second)
    assert len(set(example_images(index(names, [""] * 100), draw))) == 12
    assert example_images(index(["one"], ["one.jpg"]), draw) == [0]


def test_queries_are_known_short_captions_that_are_detected() -> None:
    captions = [
        ("en", "a dog runs"),
        ("en", "a zebra runs"),  # a word is unknown
        ("en", "a dog and a cat and a dog and a cat and a dog and a cat and a dog"),  # long
        ("en", "ein hund"),  # is German
        ("en", "zebra"),  # would be refused
        ("en", "a cat"),
        ("en", "a cat"),
        ("de", "ein roter hund"),
        ("fr", "un chien"),  # the model does not read it
    ]
    asked = index(["x"], [""], [("x", language, text) for language, text in captions])
    for seed in range(20):
        rows = example_queries(model(), asked, random.Random(seed))
        chosen = [captions[row] for row in rows]
        assert sorted(chosen[:2]) == [("en", "a cat"), ("en", "a dog runs")]
        assert chosen[2:] == [("de", "ein roter hund")]
    assert example_queries(model(), index(["x"], [""]), random.Random(0)) == []


def test_queries_differ_at_each_visit() -> None:
    texts = [" ".join(["a dog and"] * number) for number in range(1, 6)]
    asked = index(["x"], [""], [("x", "en", text) for text in texts])
    draws = {tuple(example_queries(model(), asked, random.Random(seed))) for seed in range(20)}
    assert len(draws) > 5
