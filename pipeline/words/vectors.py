"""FastText word vectors (Bojanowski et al. 2017): trained on the captions, or published."""

import errno
import logging
import mmap
import os
import re
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.common.bounds import text_lines
from pipeline.common.errors import InputError, raise_together
from pipeline.common.file_kinds import file_kind
from pipeline.common.files import atomic_write, reading, require_file
from pipeline.common.progress import Progress, duration
from pipeline.datasets.table import read_sentences
from pipeline.words.settings import WordSettings

log = logging.getLogger("pipeline")

_ODD = 3  # malformed rows that are tolerated, or a hundredth of the rows
_WORD, _NUMBER = 4096, 64  # characters that a word and a number of a row may have

Vectors = dict[str, np.ndarray]  # word -> (dimension,) float32


class FastText(Protocol):
    """A model of the library `fasttext`, which has no types."""

    f: Any  # the library's own object, with the settings of the training

    def get_word_vector(self, word: str) -> NDArray[np.float32]: ...

    def get_dimension(self) -> int: ...

    def save_model(self, path: str) -> None: ...


def train_word_vectors(sentences: Path, settings: WordSettings, output: Path) -> None:
    """Train FastText on a text.

    Args:
        sentences: sentence table; all splits are read.
        settings: JSON: dimension, tokens, seed, ...
        output: FastText model to write (.bin).
    """
    write_model(train_model(list(read_sentences(sentences)["tokens"]), settings), output)


def train_model(sentences: list[str], settings: WordSettings) -> FastText:
    """FastText's skipgram model, trained with subwords on tokenised sentences.

    One thread and a fixed seed: the same sentences give the same bytes.
    """
    import fasttext

    tokens = sum(len(sentence.split()) for sentence in sentences)
    passes = max(settings.minimum_passes, round(settings.tokens / max(1, tokens)))

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
            minn=settings.minimum_subword,
            maxn=settings.maximum_subword,
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
        InputError: the file is missing, damaged, of another kind, or of another dimension.
    """
    import fasttext

    require_file(path, "the FastText model", "Run `python -m pipeline train-word-vectors`.")
    try:
        _check_whole(path)
        model: FastText = fasttext.load_model(str(path))
    except (ValueError, OverflowError, RuntimeError, MemoryError, struct.error) as error:
        raise InputError(
            f"{path}: not a FastText model ({error}). Make it again, or give another file."
        ) from None
    if model.get_dimension() != dimension:
        dimensions = model.get_dimension()
        raise InputError(f"{path}: has {dimensions} dimensions; the setting `dimension` is {dimension}.")
    settings = model.f.getArgs()
    if settings.model == settings.model.supervised:
        raise InputError(f"{path}: found a classifier of texts, expected word vectors (skipgram or cbow).")
    return model


def _check_whole(path: Path) -> None:
    """Raise `ValueError`, `OverflowError` or `struct.error` unless a FastText model's sizes agree.

    FastText itself reads on beyond the end of a truncated file until memory is exhausted, and a model whose
    subwords have no rows ends the process.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        # Magic number, version, 12 integers and a double of settings; then the dictionary's sizes.
        place = 4 + 4 + 12 * 4 + 8
        subword_rows, _, longest = struct.unpack_from("<iii", content, 4 + 4 + 8 * 4)
        if subword_rows < 0 or (longest > 0 and subword_rows == 0):
            raise ValueError(
                f"it has subwords of up to {longest} characters, and {subword_rows} rows for them"
            )
        entries, num_words, _, _, num_pruned = struct.unpack_from("<iiiqq", content, place)
        place += struct.calcsize("<iiiqq")
        for _ in range(entries):  # a word that ends with 0, its count, its type
            if (end := content.find(b"\0", place)) < 0:
                raise ValueError("it ends in the middle of its words")
            place = end + 1 + 8 + 1
        place += 8 * max(0, num_pruned)
        for needed in (num_words + subword_rows, 0):  # input and output vectors
            # Whether they are quantised; rows, columns, and as many float32.
            rows, columns = struct.unpack_from("<?qq", content, place)[1:]
            if rows < needed and num_pruned <= 0:
                raise ValueError(f"its words and subwords need {needed:,} vectors, and it has {rows:,}")
            place += struct.calcsize("<?qq") + 4 * rows * columns
        if place != len(content):
            raise ValueError(f"it has {len(content):,} bytes; its parts take {place:,}")


def write_model(model: FastText, path: Path) -> None:
    """Write a FastText model completely or not at all."""
    with atomic_write(path) as temporary:
        model.save_model(str(temporary))
        try:
            _check_whole(temporary)
        except (ValueError, OverflowError, struct.error):  # FastText does not tell that the disk is full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


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
        InputError: the file is cut short, not in the format, of another dimension, or many rows are odd.
    """
    require_file(path, "the file of vectors", "Download it, or set `vectors` to `train`.")
    _check_kind(path)
    lookup = set(words)
    vectors: Vectors = {}
    exact: set[str] = set()  # words whose own lower-case row was found
    odd: list[str] = []
    with reading(path, "a whole file of vectors", "Download it again, from its publisher."):
        for word, vector in _known_rows(path, lookup, settings.dimension, odd):
            lower = word.lower()
            first = lower not in vectors or (word == lower and lower not in exact)
            if first or settings.casing == "last":
                vectors[lower] = vector
            if word == lower:
                exact.add(lower)
    if len(odd) > max(_ODD, len(vectors) // 100) or not vectors:
        raise_together(
            odd, f"{path}: {len(odd)} rows of the captions' words are not vectors; download it again:"
        )
    if odd:
        log.warning(
            "%s: %d rows of the captions' words are not vectors and are left out, first %s",
            path,
            len(odd),
            odd[0],
        )
    return vectors


def _check_kind(path: Path) -> None:
    """Raise `InputError` unless a file is text, or a gzip file by its name and its first bytes."""
    with open(path, "rb") as file:
        kind = file_kind(file.read(64))
    expected = "a gzip file" if path.suffix == ".gz" else ""
    if kind != expected:
        raise InputError(
            f"{path}: found {kind or 'a file that is not gzip'}, expected vectors in FastText's text format "
            "(.vec, or .vec.gz with gzip)."
        )


def _known_rows(
    path: Path, lookup: set[str], dimension: int, odd: list[str]
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Word and vector of each row of the looked-up words, rows of zeros left out.

    Args:
        odd: gets a line about each row that is not a vector.
    """
    for number, word, numbers in _rows(path, dimension):
        if word.lower() not in lookup:
            continue
        try:
            vector = _vector(numbers, dimension)
        except ValueError as error:
            odd.append(f"line {number}: {error}")
        else:
            if vector.any():
                yield word, vector


def _rows(path: Path, dimension: int) -> Iterator[tuple[int, str, str]]:
    """Line number, word and numbers of each row; checks the header against `dimension` and the rows."""
    lines = text_lines(path, _WORD + _NUMBER * dimension, is_gzip=path.suffix == ".gz")
    header = next(lines, "").split()
    if len(header) != 2 or not all(re.fullmatch("[0-9]{1,18}", one) for one in header):
        raise InputError(
            f"{path}: line 1: found {[part[:40] for part in header[:3]]}; expected the numbers of words and "
            "dimensions, which GloVe's files lack; write them as the first line."
        )
    count = int(header[0])
    if int(header[1]) != dimension:
        raise InputError(f"{path}: has {header[1]} dimensions; the setting `dimension` is {dimension}.")
    progress = Progress(f"{path.name} rows", count)
    number = 1
    for number, line in enumerate(lines, 2):
        word, _, numbers = line.partition(" ")
        yield number, word, numbers
        progress.advance()
    if number - 1 != count:
        raise InputError(
            f"{path}: has {number - 1} rows; its first line promises {count}. Download it again."
        )


def _vector(numbers: str, dimension: int) -> NDArray[np.float32]:
    """The numbers of a row; raises `ValueError` if they are malformed, too few or too many."""
    vector = np.array(numbers.split(), dtype=np.float32)
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise ValueError(f"found {len(vector)} numbers, expected {dimension} finite ones")
    return vector
