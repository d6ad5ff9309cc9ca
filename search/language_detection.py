"""Language of a sentence, by the words that the vocabularies of a model's languages know."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.datasets.tokenize import tokenizer
from pipeline.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence as the words of one language.

    tokens: its words. unknown: its words that the vocabulary lacks.
    """

    language: str
    tokens: list[str]
    unknown: list[str]

    @property
    def known_words(self) -> int:
        """Number of its words that the vocabulary has."""
        return len(self.tokens) - len(self.unknown)


@dataclass(frozen=True)
class Detection:
    """A sentence in the language that knows most of its words, and other languages that know as many."""

    sentence: ParsedSentence
    alternatives: list[str]


def parse(sentence: str, vocabulary: Vocabulary) -> ParsedSentence:
    """A sentence as words of the language of a vocabulary."""
    tokens = tokenizer(vocabulary.language)(sentence)
    unknown = [word for word in tokens if word not in vocabulary.index]
    return ParsedSentence(vocabulary.language, tokens, unknown)


def detect_language(sentence: str, vocabularies: Mapping[str, Vocabulary]) -> Detection:
    """The language that knows the largest share of a sentence's words; in a tie, the first in the model.

    A language's share is computed with the words of its own tokeniser.
    """
    parsed = [parse(sentence, vocabulary) for vocabulary in vocabularies.values()]
    best = max(parsed, key=_share)  # in a tie, the first language
    alternatives = [one.language for one in parsed if one is not best and _share(one) == _share(best)]
    return Detection(best, alternatives)


def _share(sentence: ParsedSentence) -> float:
    return sentence.known_words / len(sentence.tokens) if sentence.tokens else 0.0
