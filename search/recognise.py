"""Which of a model's languages a sentence is in, by the words that its vocabularies know."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.datasets.tokenize import tokenizer
from pipeline.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class Read:
    """A sentence as one language's words.

    tokens: its words. unknown: those of them that the vocabulary lacks.
    """

    language: str
    tokens: list[str]
    unknown: list[str]

    @property
    def known(self) -> int:
        """How many of its words are known."""
        return len(self.tokens) - len(self.unknown)


@dataclass(frozen=True)
class Recognised:
    """What a sentence was read as, and the languages that would have known as much of it."""

    read: Read
    also: list[str]


def read_as(sentence: str, vocabulary: Vocabulary) -> Read:
    """A sentence read as the language of a vocabulary."""
    tokens = tokenizer(vocabulary.language)(sentence)
    return Read(vocabulary.language, tokens, [word for word in tokens if word not in vocabulary.index])


def recognised(sentence: str, vocabularies: Mapping[str, Vocabulary]) -> Recognised:
    """The language that knows the largest share of a sentence's words; of equals, the model's first.

    A language's share is of the words that its own tokeniser makes.
    """
    reads = [read_as(sentence, vocabulary) for vocabulary in vocabularies.values()]
    best = max(reads, key=_share)  # the first of equals
    return Recognised(
        best, [one.language for one in reads if one is not best and _share(one) == _share(best)]
    )


def _share(read: Read) -> float:
    return read.known / len(read.tokens) if read.tokens else 0.0
