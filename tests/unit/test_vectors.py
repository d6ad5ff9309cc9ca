"""FastText vectors: training is deterministic; files are read row by row."""

import gzip
from pathlib import Path
from typing import Literal

import fasttext
import numpy as np
import pytest

from pipeline.common.errors import InputError
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import Vectors, read_model, read_vectors, train_model, word_vectors, write_model

SENTENCES = ["a dog runs on the beach", "a cat sits", "two dogs run", "the beach"] * 25
WORDS = ["beach", "cat", "dog", "dogs"]
SETTINGS = WordSettings(dimension=8, tokens=500, subword_buckets=100)


def _bytes(vectors: Vectors) -> bytes:
    return b"".join(vectors[word].tobytes() for word in WORDS)


def test_training_is_deterministic_and_the_seed_counts() -> None:
    first = word_vectors(train_model(SENTENCES, SETTINGS), WORDS)
    assert sorted(first) == WORDS
    assert all(vector.shape == (8,) and vector.dtype == np.float32 for vector in first.values())
    other = word_vectors(train_model(SENTENCES, SETTINGS.model_copy(update={"seed": 1})), WORDS)
    again = word_vectors(train_model(SENTENCES, SETTINGS), WORDS)
    assert _bytes(first) == _bytes(again)
    assert _bytes(first) != _bytes(other)


@pytest.mark.parametrize(
    ("subwords", "known"),
    [
        ({"maxn": 0}, []),
        ({"minn": 5, "maxn": 3}, []),
        ({"minn": 5, "maxn": 5}, ["zebra"]),  # as Facebook's cc.XX.300.bin
        ({"minn": 3, "maxn": 6}, ["zebra", "ox", "狗"]),
    ],
)
def test_an_unknown_word_without_a_subword_has_no_vector(
    tmp_path: Path, subwords: dict[str, int], known: list[str]
) -> None:
    """With its marks for beginning and end, `ox` has four characters: no subword of five."""
    (tmp_path / "text").write_text("\n".join(SENTENCES))
    model = fasttext.train_unsupervised(
        str(tmp_path / "text"), dim=8, minCount=1, thread=1, verbose=0, **{"bucket": 100, **subwords}
    )
    write_model(model, tmp_path / "a.bin")
    vectors = word_vectors(read_model(tmp_path / "a.bin", 8), ["dog", "zebra", "ox", "狗"])
    assert list(vectors) == ["dog", *known]


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    model = train_model(SENTENCES, SETTINGS)
    assert model.f.getArgs().epoch == 20  # the fewest passes; 500 tokens are two
    write_model(model, tmp_path / "a.bin")
    words = [*WORDS, "unseen"]
    read, written = (word_vectors(one, words) for one in (read_model(tmp_path / "a.bin", 8), model))
    assert all(np.array_equal(read[word], written[word]) and written[word].any() for word in words)
    with pytest.raises(InputError, match=r"a\.bin: has 8 dimensions; the setting `dimension` is 9"):
        read_model(tmp_path / "a.bin", 9)
    (tmp_path / "cut.bin").write_bytes((tmp_path / "a.bin").read_bytes()[:-300])
    with pytest.raises(InputError, match=r"cut\.bin: cut short"):
        read_model(tmp_path / "cut.bin", 8)


ROWS = [
    "Dog 1 1",
    "DOG 2 2",
    "dog 3 3",
    "dOg 4 4",
    "Cat 5 5",
    "CAT 6 6",
    "bird 7 7",
    "x\u00a0y\u2028 8 8",
    "beach 9 9",
]


def _file(path: Path, rows: list[str], header: str = "") -> Path:
    content = "\n".join([header or f"{len(rows)} 2", *rows]).encode() + b" \n"
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["cc.en.2.vec", "cc.en.2.vec.gz"])
@pytest.mark.parametrize(("casing", "dog", "cat"), [("lowercase", 3, 5), ("last", 4, 6)])
def test_one_row_per_word_is_kept(
    tmp_path: Path, name: str, casing: Literal["lowercase", "last"], dog: int, cat: int
) -> None:
    path = _file(tmp_path / name, ROWS)
    vectors = read_vectors(path, WORDS, WordSettings(dimension=2, casing=casing))
    assert {word: vector.tolist() for word, vector in vectors.items()} == {
        "dog": [dog, dog],
        "cat": [cat, cat],
        "beach": [9, 9],
    }


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (["dog 1 1"], "dog 1 1", "first line"),  # as GloVe's files, which have no such line
        (["dog 1 1 1"], "1 3", "has 3 dimensions; the setting `dimension` is 2"),
        (["dog 1 1"], "5 2", "has 1 rows; its first line promises 5"),
        (["dog 1 x"], "", "could not convert"),
    ],
)
def test_a_wrong_file_is_an_error(tmp_path: Path, rows: list[str], header: str, message: str) -> None:
    with pytest.raises(InputError, match=f"x.vec: .*{message}"):
        read_vectors(_file(tmp_path / "x.vec", rows, header), WORDS, WordSettings(dimension=2))


def test_few_odd_rows_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """For example rows of words with blanks, which published files have."""
    rows = ["dog house 1 1", "dog 2 2", "cat 1", "beach 9 9"]
    with caplog.at_level("WARNING", "pipeline"):
        vectors = read_vectors(_file(tmp_path / "x.vec", rows), WORDS, WordSettings(dimension=2))
    assert {word: vector.tolist() for word, vector in vectors.items()} == {"dog": [2, 2], "beach": [9, 9]}
    assert "2 rows" in caplog.text


@pytest.mark.parametrize("casing", ["lowercase", "last"])
def test_a_row_of_zeros_is_no_vector(tmp_path: Path, casing: Literal["lowercase", "last"]) -> None:
    path = _file(tmp_path / "x.vec", ["Dog 1 2", "dog 0 0", "cat 0 0", "beach 0 1"])
    found = read_vectors(path, WORDS, WordSettings(dimension=2, casing=casing))
    assert {word: vector.tolist() for word, vector in found.items()} == {"dog": [1, 2], "beach": [0, 1]}
