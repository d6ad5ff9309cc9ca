"""Word vectors of one language aligned to the English space, as at the start of MUSE's supervised mode.

Conneau et al. (2018), Section 2: with pairs of a bilingual dictionary as rows of X (the language) and Y
(English), the orthogonal W that minimises |X W' - Y| is U V', where U S V' is the SVD of Y' X (Procrustes).
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.common.errors import InputError
from pipeline.translation.dictionary import read_dictionaries
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary

log = logging.getLogger("pipeline")

Matrix = NDArray[np.float32]


def align_vectors(words: Path, english: Path, dictionaries: Sequence[Path], output: Path) -> None:
    """Write the words of a language with their vectors aligned to the English space.

    Args:
        words: output of `build-vocabulary` for the language.
        english: output of `build-vocabulary` for English.
        dictionaries: files of word pairs, named en-de.txt or de-en.txt.
        output: vocabulary to write (HDF5).

    Raises:
        InputError: no pair of words in the dictionaries is in both vocabularies.
    """
    foreign, native = read_vocabulary(words), read_vocabulary(english)
    pairs = word_pairs(foreign, native, dictionaries)
    if not len(pairs):
        raise InputError(
            f"{', '.join(map(str, dictionaries))}: they have no pair of a word in {words} and a word in "
            f"{english}, so vectors cannot be aligned. Give a dictionary of the captions' languages."
        )
    source, target = foreign.vectors[pairs[:, 0]], native.vectors[pairs[:, 1]]
    rotation = procrustes(source, target)
    vectors = foreign.vectors @ rotation.T
    before, after = mean_cosine(source, target), mean_cosine(vectors[pairs[:, 0]], target)
    log.info("%d word pairs; their mean cosine was %.2f and is %.2f", len(pairs), before, after)
    attributes: dict[str, str | int] = {"vectors": f"{words.name} aligned to en", "pairs": len(pairs)}
    write_vocabulary(Vocabulary(foreign.language, foreign.words, vectors), attributes, output)


def word_pairs(foreign: Vocabulary, native: Vocabulary, dictionaries: Sequence[Path]) -> NDArray[np.int64]:
    """Rows (P, 2) of the two vocabularies that translate each other, every translation of a word."""
    candidates = read_dictionaries(dictionaries, foreign.language, native.language)
    pairs = [
        (foreign.index[word], native.index[translation])
        for word, translations in candidates.items()
        for translation in translations
        if word in foreign.index and translation in native.index
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def procrustes(source: Matrix, target: Matrix) -> Matrix:
    """The orthogonal matrix W (D, D) that best aligns the rows of `source @ W.T` with those of `target`."""
    left, _, right = np.linalg.svd(target.T.astype(np.float64) @ source)
    return np.asarray(left @ right, dtype=np.float32)


def mean_cosine(one: Matrix, other: Matrix) -> float:
    """Mean cosine of vectors in the same row."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(((one * other).sum(1) / np.maximum(lengths, 1e-12)).mean())
