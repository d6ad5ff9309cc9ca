"""The cache of answers, what counts as a translation, and the export and import of the cache."""

import csv
import gzip
import itertools
import sqlite3
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.translation.cache import COLUMNS, Cache, Model
from pipeline.translation.cached_translator import CachedTranslator, EngineStopped, StoreAnswers
from pipeline.translation.exchange import export_translations, import_translations
from pipeline.translation.translation_status import STATUSES, translation_status

GOOGLE = Model("google", "", "en", "de")
ANSWERS = {"A dog.": "Ein Hund.", 'A, "b"\nc.': "Ein\n„B“,\tc.", "23": "23", "A cat.": ""}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "folder" / "cache.sqlite")
    cache.add(GOOGLE, ANSWERS)
    return cache


def test_an_answer_that_has_changed_on_the_disk_is_refused(cache: Cache) -> None:
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE translations SET answer = 'Ein Mund.' WHERE text = 'A dog.'")
    assert cache.answers(GOOGLE, ["23", "A cat."]) == {"23": "23", "A cat.": ""}
    with pytest.raises(InputError, match=r"damaged: the stored answer to 'A dog\.' has changed"):
        cache.answers(GOOGLE, ["A cat.", "A dog."])


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
    ],
)
def test_the_status_of_answers(text: str, answer: str, target: str, status: str) -> None:
    assert translation_status(text, answer, target) == status


@given(st.text(), st.text(), st.sampled_from(["de", "zh", "xx"]))
def test_any_answer_has_a_status(text: str, answer: str, target: str) -> None:
    assert translation_status(text, answer, target) in STATUSES


def test_answers_are_found_by_model_and_text_only(cache: Cache) -> None:
    again = Cache(cache.path)
    assert again.answers(GOOGLE, [*ANSWERS, "A mouse."]) == ANSWERS
    for other in (
        GOOGLE._replace(version="2"),
        GOOGLE._replace(target="fr"),
        GOOGLE._replace(provider="libre"),
    ):
        assert again.answers(other, ANSWERS) == {}


def test_the_first_answer_stays(cache: Cache) -> None:
    cache.add(GOOGLE, {"A dog.": "Der Hund.", "A horse.": "Ein Pferd."})
    assert cache.answers(GOOGLE, ["A dog.", "A horse."]) == {"A dog.": "Ein Hund.", "A horse.": "Ein Pferd."}


def test_a_failed_transaction_leaves_nothing(cache: Cache) -> None:
    before = list(cache.rows())
    sound = (*GOOGLE, "d", "new", "neu", "ok", "now")
    with pytest.raises(sqlite3.ProgrammingError):
        cache.insert([sound, ("too", "few")])
    assert list(cache.rows()) == before
    cache.insert([sound])
    assert cache.count() == len(before) + 1


def test_a_file_that_is_not_a_cache_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("image,split\n" * 100)
    with pytest.raises(InputError, match=r"not a cache of translations.*translation.cache"):
        Cache(path)
    assert path.read_text() == "image,split\n" * 100


def test_requests_of_all_jobs_keep_their_distance(tmp_path: Path) -> None:
    jobs = [Cache(tmp_path / "cache.sqlite") for _ in range(4)]
    turns: list[float] = []

    def reserve(job: Cache) -> None:
        turns.extend(turn for _ in range(25) if (turn := job.reserve("google", 100, 90)) is not None)

    threads = [threading.Thread(target=reserve, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns.sort()
    assert len(turns) == 90
    assert all(later - earlier >= 0.0099 for earlier, later in itertools.pairwise(turns))
    assert jobs[0].reserve("another", 100, 90) is not None


def test_a_pause_holds_for_all_jobs_and_is_never_shortened(tmp_path: Path) -> None:
    one, other = Cache(tmp_path / "cache.sqlite"), Cache(tmp_path / "cache.sqlite")
    before = time.time()
    one.hold("google", 100)
    other.hold("google", 1)
    turn = other.reserve("google", 1, 10)
    assert turn is not None
    assert turn >= before + 100


def test_a_slow_job_does_not_stop_another(cache: Cache) -> None:
    """A transaction that another job holds open is waited for."""
    other = sqlite3.connect(cache.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
    cache.add(GOOGLE, {"A horse.": "Ein Pferd."})
    assert cache.answers(GOOGLE, ["A horse."]) == {"A horse.": "Ein Pferd."}


class Backwards:
    """An engine that answers in the opposite order, and counts what it is asked."""

    model = GOOGLE

    def __init__(self) -> None:
        self.asked: list[str] = []

    def translate(self, texts: Sequence[str], keep: StoreAnswers) -> None:
        self.asked += texts
        for text in reversed(texts):
            keep({text: text[::-1]})


def test_translations_do_not_depend_on_the_order_of_answers(tmp_path: Path) -> None:
    engine = Backwards()
    translator = CachedTranslator(engine, Cache(tmp_path / "cache.sqlite"))
    assert translator.translate(["ab", "cd", "", "ab"]) == ["ba", "dc", "", "ba"]
    assert translator.translate(["ef", "cd"]) == ["fe", "dc"]
    assert engine.asked == ["ab", "cd", "ef"]


class Stopping(Backwards):
    """An engine that answers one text and stops."""

    def translate(self, texts: Sequence[str], keep: StoreAnswers) -> None:
        super().translate(texts[:1], keep)
        raise EngineStopped("The quota is used up.")


def test_an_engine_that_stops_counts_the_answers_that_the_cache_had(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    CachedTranslator(Backwards(), cache).translate(["ab", "cd"])
    with pytest.raises(InputError, match=r"3 of 5 captions are translated and kept in .*, 2 remain"):
        CachedTranslator(Stopping(), cache).translate(["ab", "cd", "ef", "gh", "ij"])


def test_an_exported_file_gives_the_same_answers_elsewhere(cache: Cache, tmp_path: Path) -> None:
    export_translations(cache.path, tmp_path / "a.csv.gz")
    import_translations(tmp_path / "a.csv.gz", tmp_path / "other.sqlite")
    other = Cache(tmp_path / "other.sqlite")
    assert list(other.rows()) == list(cache.rows())
    import_translations(tmp_path / "a.csv.gz", tmp_path / "other.sqlite")  # a second time changes nothing
    export_translations(tmp_path / "other.sqlite", tmp_path / "b.csv.gz")
    assert (tmp_path / "b.csv.gz").read_bytes() == (tmp_path / "a.csv.gz").read_bytes()


def test_the_bytes_do_not_depend_on_the_order_of_answers(cache: Cache, tmp_path: Path) -> None:
    other = Cache(tmp_path / "other.sqlite")
    for row in reversed(list(cache.rows())):
        other.insert([row])
    export_translations(cache.path, tmp_path / "a.csv.gz")
    export_translations(other.path, tmp_path / "b.csv.gz")
    assert (tmp_path / "b.csv.gz").read_bytes() == (tmp_path / "a.csv.gz").read_bytes()


def test_conflicts_are_listed_and_decided(cache: Cache, tmp_path: Path) -> None:
    file, path = tmp_path / "a.csv.gz", tmp_path / "other.sqlite"
    export_translations(cache.path, file)
    other = Cache(path)
    other.add(GOOGLE, {"A dog.": "Der Hund.", "23": "dreiundzwanzig"})
    before = list(other.rows())
    with pytest.raises(InputError) as caught:
        import_translations(file, path)
    assert "'A dog.': the cache has 'Der Hund.', the file 'Ein Hund.'" in str(caught.value)
    assert "'23': the cache has 'dreiundzwanzig', the file '23'" in str(caught.value)
    assert list(other.rows()) == before
    import_translations(file, path, "keep")
    assert other.answers(GOOGLE, ANSWERS) == {**ANSWERS, "A dog.": "Der Hund.", "23": "dreiundzwanzig"}
    import_translations(file, path, "replace")
    assert other.answers(GOOGLE, ANSWERS) == ANSWERS


def test_all_mistakes_of_a_file_are_listed_and_nothing_is_imported(cache: Cache, tmp_path: Path) -> None:
    rows = [list(row) for row in cache.rows()]
    first = rows[0].copy()
    rows[0][COLUMNS.index("text")] += "!"
    rows[1][COLUMNS.index("target")] = "german"
    rows[2][COLUMNS.index("status")] = "fine"
    rows[3][COLUMNS.index("text")] = "without\x00"
    file = tmp_path / "a.csv.gz"
    with gzip.open(file, "wt", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows([COLUMNS, *rows, first, ["x"]])
    with pytest.raises(InputError) as caught:
        import_translations(file, tmp_path / "other.sqlite")
    parts = (
        "digest: does not match",
        "target: found 'german'",
        "status: found 'fine'",
        "a second answer",
        "found 1 values",
    )
    for part in parts:
        assert part in str(caught.value)
    assert Cache(tmp_path / "other.sqlite").count() == 0


@pytest.mark.parametrize("damage", ["cut", "plain", "columns"])
def test_a_damaged_file_is_refused(cache: Cache, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "a.csv.gz"
    export_translations(cache.path, file)
    content = file.read_bytes()
    file.unlink()  # and its digest, which would show it first
    if damage == "cut":
        file.write_bytes(content[:-20])
    elif damage == "plain":
        file.write_bytes(gzip.decompress(content))
    else:
        file.write_bytes(gzip.compress(b"text,answer\n"))
    with pytest.raises(InputError, match=r"not a whole file of translations|expected provider, version"):
        import_translations(file, tmp_path / "other.sqlite")


def test_an_empty_cache_exports_nothing(tmp_path: Path) -> None:
    Cache(tmp_path / "cache.sqlite")
    with pytest.raises(InputError, match="holds no translations"):
        export_translations(tmp_path / "cache.sqlite", tmp_path / "a.csv.gz")
    with pytest.raises(InputError, match="is not there"):
        export_translations(tmp_path / "no.sqlite", tmp_path / "a.csv.gz")
    assert not (tmp_path / "a.csv.gz").exists()


def test_a_file_that_unpacks_to_more_than_text_is_refused_before_it_takes_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.common.bounds._ALWAYS_ALLOWED", 1 << 18)
    file = tmp_path / "a.csv.gz"
    rows = ",".join(COLUMNS).encode() + b"\n" + b"google,1,en,de,0,a,b,ok,2026\n" * (1 << 15)
    file.write_bytes(gzip.compress(rows))
    with pytest.raises(InputError, match=r"a\.csv\.gz: not a whole file.* more than 100 times its size"):
        import_translations(file, tmp_path / "other.sqlite")
    monkeypatch.setattr("pipeline.translation.exchange._MAX_LINE", 1 << 16)
    file.write_bytes(gzip.compress(b"a" * (1 << 17)))
    with pytest.raises(InputError, match=r"a\.csv\.gz: .*line 1 has more than 65,536 characters"):
        import_translations(file, tmp_path / "other.sqlite")


def test_jobs_that_begin_together_share_a_new_cache(tmp_path: Path) -> None:
    """While one connection switches a file to WAL, SQLite reports to others at once that it is locked."""
    for number in range(60):
        together = threading.Barrier(3)

        def open_cache(_: int, number: int = number, together: threading.Barrier = together) -> int:
            together.wait()
            cache = Cache(tmp_path / f"{number}.sqlite")
            found = cache.count()
            cache.close()
            return found

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(open_cache, range(3))) == [0, 0, 0]
