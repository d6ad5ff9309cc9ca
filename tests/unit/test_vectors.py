"""FastText vectors: training is deterministic; files are read row by row."""

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any, Literal

import fasttext
import numpy as np
import pytest

from pipeline.common.errors import InputError
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import (
    Vectors,
    read_model,
    read_vectors,
    train_model,
    word_vectors,
    write_model,
)

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


@pytest.mark.parametrize(("tokens", "passes"), [(500, 20), (70_000, 200)])
def test_fasttext_is_trained_as_the_settings_say(
    monkeypatch: pytest.MonkeyPatch, tokens: int, passes: int
) -> None:
    """350 tokens: 70,000 are 200 passes; 500 would be one pass, but 20 is the minimum."""
    asked: dict[str, Any] = {}
    monkeypatch.setattr("fasttext.train_unsupervised", lambda path, **given: asked.update(given))
    train_model(SENTENCES, SETTINGS.model_copy(update={"tokens": tokens}))
    assert asked == {
        "model": "skipgram", "dim": 8, "epoch": passes, "minn": 3, "maxn": 6, "bucket": 100, "minCount": 1,
        "thread": 1, "verbose": 0,
    }  # fmt: skip


def test_a_classifier_of_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(f"__label__a {sentence}" for sentence in SENTENCES))
    model = fasttext.train_supervised(str(tmp_path / "text"), dim=8, minCount=1, thread=1, verbose=0)
    model.save_model(str(tmp_path / "a.bin"))
    with pytest.raises(InputError, match=r"a\.bin: found a classifier of texts, expected word vectors"):
        read_model(tmp_path / "a.bin", 8)


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


# Place in the file, value, what is reported. Unless noticed, each ends the process or becomes a traceback.
@pytest.mark.parametrize(
    ("place", "kind", "value", "message"),
    [
        (40, "i", 0, "it has subwords of up to 6 characters, and 0 rows for them"),
        (40, "i", -1, "it has subwords of up to 6 characters, and -1 rows for them"),
        (40, "i", 1000, r"its words and subwords need 1,0\d\d vectors, and it has 1\d\d"),
        (64, "i", 2, ""),
        (68, "i", 2**31 - 1, "its words and subwords need 2,147,483,747 vectors"),
        (84, "q", 2**62, ""),
    ],
)
def test_a_model_whose_sizes_do_not_agree_is_refused(
    tmp_path: Path, place: int, kind: str, value: int, message: str
) -> None:
    write_model(train_model(SENTENCES, SETTINGS), tmp_path / "whole.bin")
    content = bytearray((tmp_path / "whole.bin").read_bytes())
    struct.pack_into(f"<{kind}", content, place, value)
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.bin: not a FastText model \(.*{message}"):
        read_model(tmp_path / "a.bin", 8)


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    model = train_model(SENTENCES, SETTINGS)
    write_model(model, tmp_path / "a.bin")
    words = [*WORDS, "unseen"]
    read, written = (word_vectors(one, words) for one in (read_model(tmp_path / "a.bin", 8), model))
    assert all(np.array_equal(read[word], written[word]) and written[word].any() for word in words)
    with pytest.raises(InputError, match=r"a\.bin: has 8 dimensions; the setting `dimension` is 9"):
        read_model(tmp_path / "a.bin", 9)


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
        (["dog 1 1"], "dog 1 1", "line 1: found"),
        (["dog 1 1 1"], "1 3", "has 3 dimensions; the setting `dimension` is 2"),
        (["dog 1 1"], "5 2", "has 1 rows; its first line promises 5"),
        (
            ["cat 1", "dog 1"],
            "",
            "2 rows of the captions' words are not vectors.*\\n.*line 2: found 1 numbers, expected 2",
        ),
        (["dog 1 x"], "", "1 rows of the captions' words are not vectors.*\\n.*line 2: could not convert"),
        (["dog 1 nan"], "", "\\n.*finite"),
        (
            ["beach 1 1", *(f"{word} 1" for word in ("dog", "cat", "Dog", "Cat"))],
            "",
            "4 rows of the captions' words are",
        ),
    ],
)
def test_a_wrong_file_is_an_error(tmp_path: Path, rows: list[str], header: str, message: str) -> None:
    with pytest.raises(InputError, match=f"x.vec: .*{message}"):
        read_vectors(_file(tmp_path / "x.vec", rows, header), WORDS, WordSettings(dimension=2))


def test_few_odd_rows_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """For example rows of words with blanks, which published files have."""
    rows = ["dog house 1 1", "dog 2 2", "cat x 1", "beach 9 9"]
    with caplog.at_level("WARNING", "pipeline"):
        vectors = read_vectors(_file(tmp_path / "x.vec", rows), WORDS, WordSettings(dimension=2))
    assert {word: vector.tolist() for word, vector in vectors.items()} == {"dog": [2, 2], "beach": [9, 9]}
    assert "2 rows of the captions' words are not vectors and are left out, first line 2" in caplog.text


def test_a_word_whose_row_is_zeros_has_no_vector(tmp_path: Path) -> None:
    path = _file(tmp_path / "x.vec", ["Dog 1 2", "dog 0 0", "cat 0 0", "beach 0 1"])
    found = read_vectors(path, WORDS, WordSettings(dimension=2))
    assert {word: vector.tolist() for word, vector in found.items()} == {"dog": [1, 2], "beach": [0, 1]}


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    path = _file(tmp_path / "x.vec.gz", ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"x\.vec\.gz: .*ended before"):
        read_vectors(path, WORDS, WordSettings(dimension=2))
    with pytest.raises(InputError, match=r"y.vec: the file of vectors is not there"):
        read_vectors(tmp_path / "y.vec", WORDS, WordSettings(dimension=2))


@pytest.mark.parametrize("content", [bytes(8 << 20), b"999999 2\n" + b"a 1 1\n" * (1 << 20)])
def test_a_file_that_unpacks_to_more_than_vectors_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr("pipeline.common.bounds._ALWAYS_ALLOWED", 1 << 18)
    path = tmp_path / "x.vec.gz"
    path.write_bytes(gzip.compress(content))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"x\.vec\.gz: .* (times its size|charac)"):
        read_vectors(path, WORDS, WordSettings(dimension=2))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_line_longer_than_a_word_and_its_numbers_is_refused(tmp_path: Path) -> None:
    path = _file(tmp_path / "x.vec", [f"{'a' * 5000} 1 1"])
    with pytest.raises(InputError, match=r"x\.vec: .*line 2 has more than 4,224 characters"):
        read_vectors(path, WORDS, WordSettings(dimension=2))
