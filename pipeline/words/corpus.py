"""One experiment's sentences and image features, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.common.errors import InputError
from pipeline.words.vocabulary import Vocabulary


@dataclass
class Sentences:
    """Sentences of one language.

    ids: (B, W) word ids, 0 is padding. lengths: (B,) word counts, at least 1. Both are always on the CPU.
    vectors: (B, D) frozen sentence vectors, which are read instead of words; None if words are read.
    """

    ids: Tensor
    lengths: Tensor
    vectors: Tensor | None = None


@dataclass
class LanguageCorpus:
    """The sentences of one language in one split.

    ids: (B, W) word ids, 0 is padding. lengths: (B,) word counts, always on the CPU.
    image: (B,) row of each sentence's image among the split's images; ascending.
    vectors: (B, D) frozen sentence vectors, or None.
    """

    ids: Tensor
    lengths: Tensor
    image: NDArray[np.int64]
    vectors: Tensor | None = None

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """The sentences at `rows`, padded to the longest of them."""
        places = torch.from_numpy(rows)
        lengths = self.lengths[places]
        vectors = None if self.vectors is None else self.vectors[to_device(places, self.vectors.device)]
        return Sentences(self.ids[places, : int(lengths.max())], lengths, vectors)

    def of_images(self, keep: NDArray[np.bool_]) -> "LanguageCorpus":
        """The sentences of the images that are kept, whose rows are renumbered."""
        part = self.at(keep[self.image])
        return replace(part, image=(np.cumsum(keep) - 1)[part.image])

    def at(self, keep: NDArray[np.bool_]) -> "LanguageCorpus":
        """The sentences at the places where a mask (B,) is true."""
        vectors = None if self.vectors is None else self.vectors[keep]
        return LanguageCorpus(self.ids[keep], self.lengths[keep], self.image[keep], vectors)

    def to(self, device: torch.device) -> "LanguageCorpus":
        """The same sentences with frozen vectors, if any, on another device."""
        return self if self.vectors is None else replace(self, vectors=self.vectors.to(device))


@dataclass
class Corpus:
    """One split: its images and, for each language, its sentences.

    images: ids of the images. features: (n, D) float32, empty (n, 0) for pretraining.
    """

    images: list[str]
    features: Tensor
    languages: dict[str, LanguageCorpus]

    def to(self, device: torch.device) -> "Corpus":
        """The same corpus on another device."""
        languages = {language: part.to(device) for language, part in self.languages.items()}
        return replace(self, features=self.features.to(device), languages=languages)


def encode(
    sentences: pd.DataFrame, vocabulary: Vocabulary, images: Sequence[str], longest: int | None
) -> LanguageCorpus:
    """Encode one language's sentence table. A sentence without any known word is encoded as padding.

    It is not left out: a query without a known word must still count in the recalls.

    Args:
        sentences: columns image, caption and tokens; every image must be in `images`.
        vocabulary: the language's words.
        images: the split's images, giving each its row.
        longest: words after the first `longest` are dropped; None: none are.

    Raises:
        InputError: the vocabulary has whole captions as its words, and some captions are missing.
    """
    row = {image: number for number, image in enumerate(images)}
    texts = sentences["tokens" if vocabulary.unit == "word" else "caption"]
    rows = [
        (row[image], vocabulary.encode(text, longest) or [0])
        for image, text in zip(sentences["image"], texts, strict=True)
    ]
    rows.sort(key=lambda pair: pair[0])  # stable: an image's sentences keep their order
    lengths = np.array([len(ids) for _, ids in rows], dtype=np.int64)
    matrix = np.zeros((len(rows), max([1, *lengths])), dtype=np.int64)
    words = chain.from_iterable(ids for _, ids in rows)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = np.fromiter(words, np.int64, lengths.sum())
    image = np.array([image for image, _ in rows], dtype=np.int64)
    vectors = None if vocabulary.unit == "word" else _sentence_vectors(vocabulary, matrix[:, 0])
    return LanguageCorpus(torch.from_numpy(matrix), torch.from_numpy(lengths), image, vectors)


def _sentence_vectors(vocabulary: Vocabulary, rows: NDArray[np.int64]) -> Tensor:
    """Vectors (B, D) of the captions at some rows of the vocabulary."""
    if (rows == 0).any():
        raise InputError(
            f"{vocabulary.language}: {(rows == 0).sum()} of {len(rows)} captions have no sentence vector. "
            "Run `python -m pipeline embed-captions` on these captions."
        )
    return torch.from_numpy(vocabulary.vectors[rows])


def corpus_of(
    sentences: Mapping[str, pd.DataFrame],
    vocabularies: Mapping[str, Vocabulary],
    longest: int | None,
    split: str,
) -> Corpus:
    """The corpus of one split, without image features; images in the order of their ids."""
    parts = {language: table[table["split"] == split] for language, table in sentences.items()}
    images = sorted(set().union(*(table["image"] for table in parts.values())))
    languages = {
        language: encode(table, vocabularies[language], images, longest) for language, table in parts.items()
    }
    return Corpus(images, torch.empty(len(images), 0), languages)
