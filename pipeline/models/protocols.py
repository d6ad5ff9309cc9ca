"""What an embedding and an encoder are: the parts of a model that `pipeline.registry` names.

A part is built from sizes, with random weights. Its values from data, word vectors and assignments of words,
are tensors named as in its state, which are copied in afterwards. So one `build` (`pipeline.models.build`)
serves training, loading and counting.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.models.settings import EmbeddingSettings, ModelSettings
from pipeline.words.corpus import Sentences
from pipeline.words.vocabulary import Vocabulary

Values = dict[str, Tensor]
Vocabularies = Mapping[str, Vocabulary]
SettingsT = TypeVar("SettingsT", contravariant=True)


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


@dataclass
class Embedded:
    """Embeddings of sentences, of one language after another.

    universal: u, (B, d) unit vectors, the mean of a sentence's universal word vectors.
    multimodal: s, (B, e) unit vectors, comparable with images.
    """

    universal: Tensor
    multimodal: Tensor


@dataclass
class Words:
    """The words of sentences of several languages, of one language after another.

    sentences: how many of each language. lengths: (B,) word counts. rows: (N,) the row of each word's vector,
    sentence by sentence. Both are on the CPU. vectors: (U, d) universal vectors; words may share one.
    """

    sentences: dict[str, int]
    lengths: Tensor
    rows: Tensor
    vectors: Tensor

    def in_order(self) -> Tensor:
        """Vectors (N, d) of all words, sentence by sentence."""
        if torch.equal(self.rows, torch.arange(len(self.vectors))):
            return self.vectors
        return self.vectors.index_select(0, to_device(self.rows, self.vectors.device))

    def means(self) -> Tensor:
        """Mean vector of each sentence's words, (B, d)."""
        rows, first = self.rows, self.lengths.cumsum(0) - self.lengths
        device = self.vectors.device
        return F.embedding_bag(to_device(rows, device), self.vectors, to_device(first, device), mode="mean")


class _Buildable(Protocol[SettingsT]):
    """A part of a model that is built from sizes."""

    languages: list[str]

    @abstractmethod
    def __init__(self, settings: SettingsT, sizes: Sizes) -> None:
        """Draw all random weights, in an order that never changes."""

    @staticmethod
    @abstractmethod
    def values(settings: SettingsT, vocabularies: Vocabularies, pretrained: Path | None) -> Values:
        """Values from data before the first step, with names and shapes of the part's state.

        Args:
            pretrained: output of the part's own pretraining, if it has any.
        """

    @staticmethod
    @abstractmethod
    def sizes(settings: SettingsT, state: Mapping[str, Tensor]) -> Sizes:
        """The sizes of a part from its values or its saved state."""

    @abstractmethod
    def copy_values(self, values: Values) -> None:
        """Copy values from data into the part."""

    def pad_to(self, longest: Mapping[str, int]) -> None:
        """Set the length of each language's longest training sentence, for embeddings that pad to it."""
        return

    @abstractmethod
    def count(self) -> dict[str, int]:
        """Numbers of trainable parameters by part.

        An embedding has `words`, vectors of one language each; `entries`, shared vectors; `layers`. An
        encoder also has `sentences` and `images`, the branches; `classifier`.
        """


class Embedding(_Buildable[EmbeddingSettings], Protocol):
    """Words of every language in one d-dimensional space; selected by an experiment's `embedding`."""

    @abstractmethod
    def words(self, ids: Mapping[str, Tensor]) -> Tensor:
        """Word ids (M,) of L languages, equally many of each, to universal word vectors (L, M, d)."""

    @abstractmethod
    def means(self, words: Words) -> Tensor:
        """Mean universal word vector of each sentence, (B, d); its unit vector is u."""


class Encoder(_Buildable[ModelSettings], Protocol):
    """Sentences and images in one space; selected by `model.encoder`."""

    similarity: str

    @abstractmethod
    def embed_images(self, features: Tensor) -> Tensor:
        """Image features (n, D) to unit vectors (n, e)."""

    @abstractmethod
    def embed_sentences(self, sentences: Mapping[str, Sentences]) -> Embedded:
        """Sentences of each language to their embeddings, one language after another."""
