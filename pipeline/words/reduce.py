"""Smaller vocabularies: the baselines of SMALR's Figure 3 (Burns et al. 2020, "Comparative Evaluation").

frequency-T    words seen fewer than T times in the training captions are dropped
pca-D          word vectors reduced to D numbers by a PCA of the language's vocabulary
dictionary-T   words of other languages than English seen fewer than T times become English words
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.common.errors import InputError
from pipeline.translation.dictionary import read_dictionaries
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary

log = logging.getLogger("pipeline")


def reduce_vocabulary(
    words: Path, reduction: str, output: Path, english: Path | None = None, dictionaries: Sequence[Path] = ()
) -> None:
    """Write a smaller vocabulary of a language.

    Args:
        words: output of `build-vocabulary` for the language.
        reduction: frequency-5, pca-50, frequency-5+pca-50 (one after the other), dictionary-5, ...
        english: for dictionary-N: output of `build-vocabulary` for English.
        dictionaries: for dictionary-N: files of word pairs, such as en-de.txt.
        output: vocabulary to write (HDF5).

    Raises:
        InputError: no word is left, or the vectors have fewer dimensions than requested.
    """
    smaller = whole = read_vocabulary(words)
    for kind, _, amount in (step.partition("-") for step in reduction.split("+")):
        if kind == "pca":
            smaller = with_smaller_vectors(smaller, int(amount))
        elif kind == "frequency":
            smaller = frequent(smaller, int(amount))
        elif english is None:
            raise InputError(f"{reduction}: the English vocabulary is missing; give --english.")
        else:
            candidates = read_dictionaries(dictionaries, smaller.language, "en")
            smaller = mapped_to_english(smaller, int(amount), read_vocabulary(english), candidates)
    log.info(
        "%s: %d of %d words, %s", whole.language, len(smaller.words) - 1, len(whole.words) - 1, reduction
    )
    write_vocabulary(smaller, {"vectors": f"{words.name}, {reduction}"}, output)


def frequent(whole: Vocabulary, least: int) -> Vocabulary:
    """The words with a minimum number of occurrences."""
    assert whole.counts is not None, "it was built from captions"
    rows = [0, *(row for row in whole.index.values() if whole.counts[row] >= least)]
    if len(rows) == 1:
        raise InputError(
            f"{whole.language}: no word is seen {least} times in the training captions; take a lower "
            "threshold, or more captions."
        )
    return Vocabulary(whole.language, [whole.words[row] for row in rows], whole.vectors[rows])


def with_smaller_vectors(whole: Vocabulary, size: int) -> Vocabulary:
    """The same words, their vectors projected on the first `size` principal components; padding stays zero.

    V words span at most V - 1 directions: the numbers of a small vocabulary in others are zeros, but for
    rounding.
    """
    import torch  # here, since the other reductions do not need it

    from pipeline.words.components import principal_components

    rows = np.zeros((len(whole.words), size), dtype=np.float32)
    rows[1:] = principal_components(torch.from_numpy(whole.vectors[1:]), size).numpy()
    return Vocabulary(whole.language, whole.words, rows)


def mapped_to_english(
    whole: Vocabulary, least: int, english: Vocabulary, candidates: dict[str, list[str]]
) -> Vocabulary:
    """The same words, with rare words mapped to English: rare words come last and have no vectors.

    A rare word becomes the first of its translations that the English vocabulary has; a rare word without
    any keeps its vector.

    Args:
        candidates: English translations of each word, the best first.
    """
    assert whole.counts is not None, "it was built from captions"
    targets = {
        word: english.index[translations[0]]
        for word, row in whole.index.items()
        if whole.counts[row] < least
        and (translations := [other for other in candidates.get(word, []) if other in english.index])
    }
    own = [row for row, word in enumerate(whole.words) if word not in targets]
    vectors = whole.vectors[own]
    return Vocabulary(
        whole.language,
        [*(whole.words[row] for row in own), *targets],
        np.vstack([vectors, np.zeros((len(targets), vectors.shape[1]))]).astype(np.float32),
        english=np.array(list(targets.values()), dtype=np.int64),
    )
