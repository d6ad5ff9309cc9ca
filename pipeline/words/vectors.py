"""FastText word vectors (Bojanowski et al. 2017): trained on the captions, or published."""

import gzip
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, check_disk_space, reading, require_file
from pipeline.common.progress import duration, with_progress
from pipeline.words.settings import WordSettings

log = logging.getLogger("pipeline")

FastText = Any  # a model of the library `fasttext`, which has no types
Vectors = dict[str, np.ndarray]  # word -> (dimension,) float32

# Passes over the captions, however many tokens they have: after 4 over the 145,755 English captions of
# Multi30K, the mean cosine of two words is 0.57.
MINIMUM_PASSES = 20


def train_model(sentences: list[str], settings: WordSettings) -> FastText:
    """FastText's skipgram model, trained with subwords on tokenised sentences.

    One thread and a fixed seed: the same sentences give the same bytes.
    """
    import fasttext

    tokens = sum(len(sentence.split()) for sentence in sentences)
    passes = max(MINIMUM_PASSES, round(settings.tokens / max(1, tokens)))

    # train_unsupervised() takes no seed argument, but reads it among its defaults.
    fasttext.FastText.unsupervised_default["seed"] = settings.seed
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "sentences.txt")
        text.write_text("\n".join(sentences) + "\n", encoding="utf-8")
        model: FastText = fasttext.train_unsupervised(
            str(text),
            model="skipgram",
            dim=settings.dimension,
            epoch=passes,
            bucket=settings.subword_buckets,
            minCount=1,
            thread=1,
            verbose=0,
        )
    duration_of_training = duration(time.monotonic() - start)
    log.info("FastText: %d passes over %d captions in %s", passes, len(sentences), duration_of_training)
    return model


def read_model(path: Path, dimension: int) -> FastText:
    """A FastText model of word vectors.

    Raises:
        InputError: the file is missing, of another kind, or of another dimension.
    """
    import fasttext

    require_file(path, "the FastText model", "Run `python -m pipeline train-word-vectors`.")
    with reading(path, "a FastText model", "Make it again, or give another file."):
        model = fasttext.load_model(str(path))
    if (found := model.get_dimension()) != dimension:
        raise InputError(f"{path}: has {found} dimensions; the setting `dimension` is {dimension}.")
    if path.stat().st_size < _size(model):  # FastText reads it without a word, with any numbers as vectors
        raise InputError(
            f"{path}: cut short, or no model of word vectors. Make it again, or download it again."
        )
    return model


def _size(model: FastText) -> int:
    """Bytes of the vectors of words and subwords, and of the vectors of the output layer."""
    size: int = 4 * model.get_dimension() * (2 * len(model.words) + model.f.getArgs().bucket)
    return size


def write_model(model: FastText, path: Path) -> None:
    """Write a FastText model completely or not at all."""
    check_disk_space(path, _size(model))  # FastText does not tell that a disk is full
    with atomic_write(path) as temporary:
        model.save_model(str(temporary))


def word_vectors(model: FastText, words: list[str]) -> Vectors:
    """The vectors of some words; a word unknown to the model has that of its subwords.

    A word that has no subword either, such as a short word or any unknown word of a model without subwords,
    is left out, as words that a text file lacks are. FastText's own answer for it is zeros, as for padding.
    """
    every = {word: model.get_word_vector(word) for word in words}
    return {word: vector for word, vector in every.items() if vector.any()}


def read_vectors(path: Path, words: list[str], settings: WordSettings) -> Vectors:
    """Vectors of the lower-cased words from a file in FastText's text format (`.vec` or `.vec.gz`).

    The file is read as a stream, and only the rows of the words are kept. Published files have a few
    malformed rows, such as those of words with blanks; they are left out with a warning. Rows of zeros are
    left out without a warning: zeros stand for padding.

    Raises:
        InputError: the file is cut short, not in the format, or of another dimension.
    """
    require_file(path, "the file of vectors", "Download it, or set `vectors` to `train`.")
    lookup, exact, odd = set(words), set(), 0  # exact: words whose own lower-case row was found
    vectors: Vectors = {}
    what = "vectors in FastText's text format, whose first line has the numbers of words and dimensions"
    opened = gzip.open if path.suffix == ".gz" else open
    with (
        reading(
            path, what, "Give such a file (.vec or .vec.gz), or a model of FastText that is unpacked (.bin)."
        ),
        opened(path, "rt", encoding="utf-8", newline="\n") as lines,
    ):
        count, dimension = map(int, next(lines, "").split())
        if dimension != settings.dimension:
            raise InputError(
                f"{path}: has {dimension} dimensions; the setting `dimension` is {settings.dimension}."
            )
        found = 0
        for line in with_progress(lines, f"{path.name} rows", count):
            found += 1
            word, _, numbers = line.partition(" ")
            lower = word.lower()
            if lower not in lookup:
                continue
            values = numbers.split()
            if len(values) != dimension:
                odd += 1
                continue
            vector = np.array(values, dtype=np.float32)
            first = lower not in vectors or (word == lower and lower not in exact)
            if vector.any() and (first or settings.casing == "last"):
                vectors[lower] = vector
                if word == lower:
                    exact.add(lower)
        if found != count:
            raise InputError(f"{path}: has {found} rows; its first line promises {count}. Download it again.")
    if odd:
        log.warning("%s: %d rows have more or fewer than %d numbers and are left out", path, odd, dimension)
    return vectors
