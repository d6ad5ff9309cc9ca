"""Detection of languages by the words in their vocabularies."""

import numpy as np

from pipeline.words.vocabulary import PADDING, Vocabulary
from search.language_detection import detect_language

WORDS = {"en": ["a", "dog", "in", "snow"], "de": ["ein", "hund", "im", "schnee", "in"], "zh": ["狗", "雪地"]}


def vocabularies() -> dict[str, Vocabulary]:
    return {
        code: Vocabulary(code, [PADDING, *words], np.zeros((len(words) + 1, 0), np.float32))
        for code, words in WORDS.items()
    }


def test_the_language_with_the_most_known_words_is_detected() -> None:
    for sentence, language in (("A dog.", "en"), ("Ein Hund im Schnee", "de"), ("雪地里有一只狗", "zh")):
        found = detect_language(sentence, vocabularies())
        assert (found.sentence.language, found.alternatives) == (language, [])


def test_unknown_words_are_returned() -> None:
    found = detect_language("Ein Hund im Park!", vocabularies())
    assert found.sentence.tokens == ["ein", "hund", "im", "park"]
    assert found.sentence.unknown == ["park"]
    assert found.sentence.known_words == 3


def test_in_a_tie_the_first_language_wins_and_the_others_are_returned() -> None:
    found = detect_language("in", vocabularies())
    assert (found.sentence.language, found.alternatives) == ("en", ["de"])


def test_the_share_of_known_words_decides_and_not_their_number() -> None:
    """Two tokenisers split a text into four and three words; each language knows three of its own."""
    words = {"en": ["狗", "雪", "地"], "zh": ["狗", "雪地", "里"]}
    few = {code: Vocabulary(code, [PADDING, *known], np.zeros((4, 0))) for code, known in words.items()}
    found = detect_language("狗雪地里", few)
    assert (found.sentence.language, found.sentence.known_words, found.alternatives) == ("zh", 3, [])
    assert detect_language("狗雪地里", {"en": few["en"]}).sentence.known_words == 3


def test_a_sentence_without_known_words_is_recognised() -> None:
    for text in ("xyzzy", "!?", ""):
        assert detect_language(text, vocabularies()).sentence.known_words == 0
