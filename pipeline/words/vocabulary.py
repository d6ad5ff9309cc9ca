"""The words of one language and their initial vectors (MULE, "Visual-Semantic Multilingual Alignment").

A file of frozen sentence vectors (ML BERT) has the same form: its words are whole captions.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from pipeline.common.errors import InputError
from pipeline.common.files import reading, require_file
from pipeline.common.hdf5 import create_hdf5

PADDING = ""  # the word of index 0

Attribute = str | int


@dataclass(frozen=True)
class Vocabulary:
    """Words of one language and their vectors.

    Attributes:
        language: ISO 639-1 code.
        words: V + 1 words; index 0 is padding, the empty string.
        vectors: (V + 1, dimension) float32; row 0 is zeros.
        unit: what an entry is, a `word` of the tokens or a whole `caption`.
        english: (M,) rows of the English words that replace the last M words, which have no vectors
            (`reduce.py`); None if every word has a vector.
        counts: (V + 1,) how often the training captions have each word; None where nothing depends on it.
    """

    language: str
    words: list[str]
    vectors: np.ndarray
    unit: str = "word"
    english: np.ndarray | None = None
    counts: np.ndarray | None = None

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Word -> its row, from 1; padding is not a word."""
        return {word: row for row, word in enumerate(self.words) if row}

    def encode(self, text: str, longest: int | None) -> list[int]:
        """Rows of the known words among space-separated tokens, at most the first `longest` of them.

        For a vocabulary of whole captions: the caption's row.
        """
        units = text.split() if self.unit == "word" else [text]
        return [self.index[unit] for unit in units if unit in self.index][:longest]


def word_counts(sentences: Iterable[str]) -> dict[str, int]:
    """The lower-cased words of tokenised sentences, sorted, with their counts; none is cut (MULE's code)."""
    return dict(sorted(Counter(word.lower() for tokens in sentences for word in tokens.split()).items()))


def vocabulary(
    language: str, words: list[str], vectors: dict[str, np.ndarray], counts: Mapping[str, int] | None = None
) -> Vocabulary:
    """Vocabulary of the words that have a vector, in their order.

    Args:
        counts: of words in the training captions.

    Raises:
        InputError: none of the words has a vector.
    """
    with_vector = [word for word in words if word in vectors]
    if not with_vector:
        raise InputError(
            f"None of the {len(words)} words of the training captions has a vector. "
            "Are the vectors in the captions' language, and separated by blanks?"
        )
    rows = np.stack([vectors[word] for word in with_vector]).astype(np.float32)
    known, seen = [PADDING, *with_vector], counts or {}
    of_words = np.array([seen.get(word, 0) for word in known], dtype=np.int64)
    return Vocabulary(language, known, np.vstack([np.zeros_like(rows[:1]), rows]), counts=of_words)


def write_vocabulary(vocabulary: Vocabulary, attributes: dict[str, Attribute], path: Path) -> None:
    """Write HDF5 datasets `words` and `vectors`; attributes give language, unit and provenance."""
    with create_hdf5(path, vocabulary.vectors.size * 4) as file:
        file.create_dataset("words", data=vocabulary.words, dtype=h5py.string_dtype())
        file.create_dataset("vectors", data=vocabulary.vectors, dtype=np.float32)
        for name in ("english", "counts"):
            if (numbers := getattr(vocabulary, name)) is not None:
                file.create_dataset(name, data=numbers, dtype=np.int64)
        file.attrs.update(attributes | {"language": vocabulary.language, "unit": vocabulary.unit})


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary; raises `InputError` for a damaged file or one with other content."""
    require_file(path, "the vocabulary", "Run `python -m pipeline build-vocabulary`.")
    with reading(path, "a vocabulary"), h5py.File(path) as file:
        return Vocabulary(
            language=str(file.attrs["language"]),
            words=list(file["words"].asstr()[:]),
            vectors=file["vectors"][:],
            unit=str(file.attrs["unit"]),
            english=file["english"][:] if "english" in file else None,
            counts=file["counts"][:] if "counts" in file else None,
        )
