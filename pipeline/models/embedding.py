"""What an embedding of words is: the part of a model that depends on its vocabularies.

Sizes in comments: N words of B sentences, U distinct words, d universal size.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline import registry
from pipeline.common.devices import to_device
from pipeline.models.settings import EmbeddingSettings
from pipeline.words.corpus import Sentences
from pipeline.words.vocabulary import Vocabulary

Vocabularies = Mapping[str, Vocabulary]
Pretrained = Mapping[str, Any]  # what the embedding's own pretraining has written; empty without any


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model that depend on the data.

    words: ids of each language's words, padding's included. vector: numbers of a word's vector. features: D,
    numbers of an image's features. shared: vectors that all languages share, padding's included: entries of a
    latent vocabulary, or characters. mapped_words: words of a language without a vector of their own, if any.
    """

    words: dict[str, int]
    vector: int
    features: int = 0
    shared: int = 0
    mapped_words: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, vocabularies: Vocabularies, features: int = 0, shared: int = 0) -> "Sizes":
        """The sizes of a model of some vocabularies; from whole captions' vectors it needs only padding's."""
        words, mapped = {}, {}
        for language, vocabulary in vocabularies.items():
            words[language] = len(vocabulary.words) if vocabulary.unit == "word" else 1
            mapped[language] = 0 if vocabulary.english is None else len(vocabulary.english)
        vector = next(iter(vocabularies.values())).vectors.shape[1]
        return cls(words, vector, features, shared, mapped)


@dataclass
class Words:
    """The words of sentences of several languages, of one language after another.

    lengths: (B,) word counts. rows: (N,) the row of each word's vector, sentence by sentence. Both are on the
    CPU. vectors: (U, d) universal vectors; words may share one. means: (B, d) of each sentence's words.
    """

    lengths: Tensor
    rows: Tensor
    vectors: Tensor
    means: Tensor

    def in_order(self) -> Tensor:
        """Vectors (N, d) of all words, sentence by sentence."""
        if torch.equal(self.rows, torch.arange(len(self.vectors))):
            return self.vectors
        return self.vectors.index_select(0, to_device(self.rows, self.vectors.device))


class Embedding(nn.Module):
    """Words of every language in one d-dimensional space; selected by an experiment's `embedding`.

    It is built from sizes, with random weights. `begin` then copies values from data into it.
    """

    languages: list[str]

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        """Draw all random weights, in an order that never changes."""
        super().__init__()
        self.languages = list(sizes.words)

    @staticmethod
    def shared_vectors(vocabularies: Vocabularies, pretrained: Pretrained) -> int:
        """`Sizes.shared`."""
        return 0

    @abstractmethod
    def begin(self, vocabularies: Vocabularies, pretrained: Pretrained) -> None:
        """Copy the values before the first step: word vectors, pretrained weights, assignments of words."""

    @abstractmethod
    def read(self, sentences: Mapping[str, Sentences]) -> Words:
        """The words of sentences of each language."""

    def pad_to(self, longest: Mapping[str, int]) -> None:
        """Set the length of each language's longest training sentence, for embeddings that pad to it."""
        return

    @abstractmethod
    def count(self) -> dict[str, int]:
        """Numbers of trainable parameters by part.

        `words`, vectors of one language each; `entries`, shared vectors; `layers`; `sentences`, what is
        needed to read a sentence although the universal vectors of all words are known.
        """


def embedding_class(settings: EmbeddingSettings) -> type[Embedding]:
    """The class of an experiment's embedding."""
    kind: type[Embedding] = registry.load(registry.embedding(settings))
    return kind


def table_parameters(table: nn.Embedding) -> int:
    """Number of trainable parameters in a table: padding's row is not trained."""
    return table.weight.numel() - (0 if table.padding_idx is None else table.embedding_dim)


def real_words(lengths: Tensor, longest: int) -> Tensor:
    """Whether a place (B, longest) holds a word, not padding, from word counts (B,)."""
    return torch.arange(longest) < lengths[:, None]


def sentence_means(lengths: Tensor, rows: Tensor, vectors: Tensor) -> Tensor:
    """Mean vector of each sentence's words, (B, d); see `Words`."""
    first = to_device(lengths.cumsum(0) - lengths, vectors.device)
    return F.embedding_bag(to_device(rows, vectors.device), vectors, first, mode="mean")


def linear(size: int, out: int) -> nn.Linear:
    """A linear layer with Glorot uniform weights and zero bias, as in the authors' framework."""
    layer = nn.Linear(size, out)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
