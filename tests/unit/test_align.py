"""Alignment of word vectors to English ones."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.words.align import align_vectors, procrustes, word_pairs
from pipeline.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary

EN = Vocabulary("en", ["", "cat", "dog", "red"], np.array([[0, 0], [1, 0], [0, 1], [2, 1]], np.float32))
# A quarter turn from English: (x, y) -> (-y, x), and one word that the dictionary lacks.
DE = Vocabulary(
    "de",
    ["", "hund", "katze", "rot", "tisch"],
    np.array([[0, 0], [-1, 0], [0, 1], [-1, 2], [3, 0]], np.float32),
)


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    path = tmp_path / "en-de.txt"
    path.write_text("cat katze\ndog hund\nred rot\nhouse haus\ncat kater\n")
    return path


def test_a_quarter_turn_is_undone() -> None:
    turn = procrustes(DE.vectors[1:4], EN.vectors[[2, 1, 3]])
    np.testing.assert_allclose(turn, [[0, 1], [-1, 0]], atol=1e-6)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 99))
def test_the_matrix_is_orthogonal_and_no_rotation_fits_better(pairs: int, size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    source, target = generator.normal(size=(2, pairs, size)).astype(np.float32)
    found = procrustes(source, target)
    np.testing.assert_allclose(found @ found.T, np.eye(size), atol=1e-5)
    other, _ = np.linalg.qr(generator.normal(size=(size, size)))
    assert np.square(source @ found.T - target).sum() <= np.square(source @ other.T - target).sum() + 1e-3


def test_pairs_need_both_words_in_the_vocabularies(dictionary: Path) -> None:
    pairs = word_pairs(DE, EN, [dictionary])
    named = {(DE.words[one], EN.words[other]) for one, other in pairs}
    assert named == {("katze", "cat"), ("hund", "dog"), ("rot", "red")}


def test_every_word_is_rotated_and_padding_stays(tmp_path: Path, dictionary: Path) -> None:
    write_vocabulary(DE, {}, tmp_path / "de.h5")
    write_vocabulary(EN, {}, tmp_path / "en.h5")
    align_vectors(tmp_path / "de.h5", tmp_path / "en.h5", [dictionary], tmp_path / "out.h5")
    made = read_vocabulary(tmp_path / "out.h5")
    assert (made.language, made.words, made.unit) == ("de", DE.words, "word")
    np.testing.assert_allclose(made.vectors, [[0, 0], [0, 1], [1, 0], [2, 1], [0, -3]], atol=1e-5)


def test_a_dictionary_without_a_common_word_is_an_error(tmp_path: Path, dictionary: Path) -> None:
    dictionary.write_text("house haus\n")
    write_vocabulary(DE, {}, tmp_path / "de.h5")
    write_vocabulary(EN, {}, tmp_path / "en.h5")
    with pytest.raises(
        InputError, match=r"en-de.txt: they have no pair of a word in .*de.h5 and a word in .*en.h5"
    ):
        align_vectors(tmp_path / "de.h5", tmp_path / "en.h5", [dictionary], tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()
