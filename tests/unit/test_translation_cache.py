"""The cache of answers, and what counts as a translation."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.translation.cache import Cache, CachedTranslator, Model
from pipeline.translation.translation_status import EMPTY, OK, SAME, SCRIPT, translation_status

GOOGLE = Model("google", "", "en", "de")
ANSWERS = {"A dog.": "Ein Hund.", 'A, "b"\nc.': "Ein\n„B“,\tc.", "23": "23"}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "folder" / "cache.sqlite")
    cache.add(GOOGLE, ANSWERS)
    return cache


@pytest.mark.parametrize(
    ("text", "answer", "target", "status"),
    [
        ("A man runs.", "Ein Mann rennt.", "de", "ok"),
        ("A man runs.", "  ", "de", "empty"),
        ("A man runs.", "...", "de", "empty"),
        ("A man runs.", "a man  runs", "de", "same"),
        ("A man in red.", "A man in red.", "zh", "same"),
        ("東京の犬", "東京の犬", "zh", "same"),
        ("23", "23", "ja", "ok"),
        ("Michael Jordan 23", "Michael Jordan 23", "de", "ok"),
        ("NASA", "NASA", "zh", "ok"),
        ("A man in a Nike T-shirt.", "穿着Nike T恤的男人。", "zh", "ok"),
        ("A man in a blue shirt.", "一个 man in a blue shirt", "zh", "script"),
        ("犬が走る。", "человек", "en", "script"),
        ("A dog eats ramen.", "犬がラーメンを食べる。", "ja", "ok"),
        ("Two dogs.", "개 두 마리.", "ko", "ok"),
        ("Two dogs.", "كلبان", "ar", "ok"),
        ("Two dogs.", "Две собаки", "ru", "ok"),
        ("Two dogs.", "Two собаки", "xx", "ok"),
        ("Two dogs.", "Internal Server Error", "ru", "script"),
    ],
)
def test_the_status_of_answers(text: str, answer: str, target: str, status: str) -> None:
    assert translation_status(text, answer, target) == status


@given(st.text(), st.text(), st.sampled_from(["de", "zh", "xx"]))
def test_any_answer_has_a_status(text: str, answer: str, target: str) -> None:
    assert translation_status(text, answer, target) in (OK, EMPTY, SAME, SCRIPT)


def test_answers_are_found_by_model_only(cache: Cache) -> None:
    again = Cache(cache.path)
    assert again.answers(GOOGLE) == ANSWERS
    for other in (
        GOOGLE._replace(version="2"),
        GOOGLE._replace(target="fr"),
        GOOGLE._replace(provider="libre"),
    ):
        assert again.answers(other) == {}


def test_the_first_answer_stays(cache: Cache) -> None:
    cache.add(GOOGLE, {"A dog.": "Der Hund.", "A horse.": "Ein Pferd."})
    assert cache.answers(GOOGLE) == {**ANSWERS, "A horse.": "Ein Pferd."}


def test_a_file_that_is_not_a_cache_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("image,split\n" * 100)
    with pytest.raises(InputError, match=r"not a cache of translations.*translation\.cache"):
        Cache(path)
    assert path.read_text() == "image,split\n" * 100


def test_a_slow_job_does_not_stop_another(cache: Cache) -> None:
    """A transaction that another job holds open is waited for."""
    other = sqlite3.connect(cache.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
    cache.add(GOOGLE, {"A horse.": "Ein Pferd."})
    assert cache.answers(GOOGLE)["A horse."] == "Ein Pferd."


class Backwards(CachedTranslator):
    """A translator that answers in the opposite order, and counts what it is asked."""

    def __init__(self, path: Path):
        super().__init__(GOOGLE, path)
        self.asked: list[str] = []

    def ask(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
        self.asked += texts
        for text in reversed(texts):
            yield {text: text[::-1]}


def test_translations_do_not_depend_on_the_order_of_answers(tmp_path: Path) -> None:
    translator = Backwards(tmp_path / "cache.sqlite")
    assert translator.translate(["ab", "cd", "", "ab"]) == ["ba", "dc", "", "ba"]
    assert translator.translate(["ef", "cd"]) == ["fe", "dc"]
    assert translator.asked == ["ab", "cd", "ef"]


def test_another_jobs_earlier_answer_is_the_one_that_counts(tmp_path: Path) -> None:
    """Two jobs may request a caption; both get the first answer."""
    path = tmp_path / "cache.sqlite"

    class Late(Backwards):
        def ask(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
            Cache(path).add(GOOGLE, dict.fromkeys(texts, "first"))
            yield dict.fromkeys(texts, "second")

    assert Late(path).translate(["A dog."]) == ["first"]


class Broken(Backwards):
    """A translator that gives everything the same answer after some captions."""

    def __init__(self, path: Path, after: int):
        super().__init__(path)
        self.after = after

    def ask(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
        for number, text in enumerate(texts):
            yield {text: f"Satz {number}" if number < self.after else "Bitte kommen Sie morgen wieder."}


def test_one_answer_for_many_captions_stops_the_job_and_is_stored_for_none(tmp_path: Path) -> None:
    texts = [f"Sentence {number}" for number in range(100)]
    with pytest.raises(InputError, match=r"20 captions in a row .* 30 of 100 captions are done"):
        Broken(tmp_path / "cache.sqlite", 30).translate(texts)
    assert set(Cache(tmp_path / "cache.sqlite").answers(GOOGLE)) == set(texts[:30])


def test_a_few_captions_may_have_one_answer(tmp_path: Path) -> None:
    assert len(set(Broken(tmp_path / "cache.sqlite", 0).translate(["A dog.", "a dog", "One dog."]))) == 1
