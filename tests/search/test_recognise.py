"""Languages by the words that vocabularies know."""

import numpy as np

from pipeline.words.vocabulary import PADDING, Vocabulary
from search.recognise import recognised

WORDS = {"en": ["a", "dog", "in", "snow"], "de": ["ein", "hund", "im", "schnee", "in"], "zh": ["狗", "雪地"]}


def vocabularies() -> dict[str, Vocabulary]:
    return {
        code: Vocabulary(code, [PADDING, *words], np.zeros((len(words) + 1, 0), np.float32))
        for code, words in WORDS.items()
    }


def test_the_language_that_knows_the_most_words() -> None:
    for sentence, language in (("A dog.", "en"), ("Ein Hund im Schnee", "de"), ("雪地里有一只狗", "zh")):
        found = recognised(sentence, vocabularies())
        assert (found.read.language, found.also) == (language, [])


def test_unknown_words_are_told() -> None:
    found = recognised("Ein Hund im Park!", vocabularies())
    assert found.read.tokens == ["ein", "hund", "im", "park"]
    assert found.read.unknown == ["park"]
    assert found.read.known == 3


def test_of_equals_the_first_and_the_others_are_told() -> None:
    found = recognised("in", vocabularies())
    assert (found.read.language, found.also) == ("en", ["de"])


def test_the_share_decides_and_not_the_number() -> None:
    """Of the same text two tokenisers make four words and three; each language knows three of its own."""
    words = {"en": ["狗", "雪", "地"], "zh": ["狗", "雪地", "里"]}
    few = {code: Vocabulary(code, [PADDING, *known], np.zeros((4, 0))) for code, known in words.items()}
    found = recognised("狗雪地里", few)
    assert (found.read.language, found.read.known, found.also) == ("zh", 3, [])
    assert recognised("狗雪地里", {"en": few["en"]}).read.known == 3


def test_nothing_known_is_told() -> None:
    for text in ("xyzzy", "!?", ""):
        assert recognised(text, vocabularies()).read.known == 0
