"""Translation by a service: a real server on this machine that answers rightly, wrongly, slowly or not."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stand_in_service import Service, stand_in, translation
from pipeline.common.errors import InputError
from pipeline.translation.cache import Cache, Model
from pipeline.translation.cached_translator import CachedTranslator
from pipeline.translation.machine import machine_translator
from pipeline.translation.services import SERVICES
from pipeline.translation.settings import Limits, TranslatorSettings
from pipeline.translation.web import request_batches, split_answer

FAST: dict[str, Any] = {"requests_per_second": 1e6, "max_pause": 0.01}
CAPTIONS = [f"A dog runs after {number} red balls." for number in range(400)]

Translate = Callable[..., list[str]]


@pytest.fixture
def service() -> Iterator[Service]:
    with stand_in() as service:
        yield service


@pytest.fixture
def translate(service: Service, tmp_path: Path) -> Translate:
    """Translate captions into German by the stand-in, through one cache."""

    def run(captions: list[str], **limits: Any) -> list[str]:
        settings, cache = TranslatorSettings(url=service.url), tmp_path / "cache.sqlite"
        translator = machine_translator("google", "en", "de", settings, cache, Limits(**{**FAST, **limits}))
        return translator.translate(captions)

    return run


def test_many_captions_go_in_one_request(service: Service, translate: Translate) -> None:
    assert translate(CAPTIONS) == list(map(translation, CAPTIONS))
    assert len(service.requests) == 3
    assert service.lines == CAPTIONS


def test_equal_captions_are_requested_once_and_blank_ones_never(
    service: Service, translate: Translate
) -> None:
    assert translate(["A dog.", " ", "A cat.", "A dog."]) == ["Aen dog.en", "", "Aen cat.en", "Aen dog.en"]
    assert service.lines == ["A dog.", "A cat."]


def test_no_caption_is_requested_twice_over_runs(service: Service, translate: Translate) -> None:
    translate(CAPTIONS[:200])
    assert translate(CAPTIONS) == list(map(translation, CAPTIONS))
    assert sorted(service.lines) == sorted(CAPTIONS)


def test_other_codes_of_a_language_are_requested_again(service: Service, tmp_path: Path) -> None:
    def translate(**codes: str) -> int:
        settings = TranslatorSettings(url=service.url, codes=codes)
        cache = tmp_path / "cache.sqlite"
        machine_translator("google", "en", "de", settings, cache, Limits(**FAST)).translate(["A dog."])
        return len(service.requests)

    assert [translate(de="de"), translate(de="de-AT"), translate(de="de", zh="zh-TW")] == [1, 2, 2]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\x0b", "\n\n"])
def test_captions_with_line_ends_survive(service: Service, translate: Translate, end: str) -> None:
    captions = ["A dog.", f"A cat{end}and a mouse.{end}", "A horse."]
    assert translate(captions) == ["Aen dog.en", "Aen caten anden aen mouse.en", "Aen horse.en"]
    assert len(service.requests) == 1


@pytest.mark.parametrize("fault", ["merged", "merged and blank", "dropped", "added", "blank", "numbered"])
def test_no_caption_gets_its_neighbours_translation(
    service: Service, translate: Translate, fault: str
) -> None:
    """The service answers batches of more than two captions wrongly."""
    service.behaviour = lambda number, lines: fault if len(lines) > 2 else ""
    assert translate(CAPTIONS[:20]) == list(map(translation, CAPTIONS[:20]))


def test_only_the_half_that_is_answered_wrongly_is_requested_again(
    service: Service, translate: Translate
) -> None:
    service.behaviour = lambda number, lines: "merged" if CAPTIONS[5] in lines and len(lines) > 1 else ""
    assert translate(CAPTIONS[:16]) == list(map(translation, CAPTIONS[:16]))
    assert [len(lines) for lines in service.requests] == [16, 8, 4, 4, 2, 1, 1, 2, 8]


def test_swapped_lines_are_not_detected(service: Service, translate: Translate) -> None:
    """A known limit of the method, which the documents state."""
    service.behaviour = lambda number, lines: "swapped"
    assert translate(["A dog.", "A cat."]) == ["Aen cat.en", "Aen dog.en"]


def test_a_refused_caption_stays_without_a_translation_and_blocks_no_other(
    service: Service, translate: Translate, caplog: pytest.LogCaptureFixture
) -> None:
    service.behaviour = lambda number, lines: "page" if CAPTIONS[7] in lines else ""
    expected = [("" if caption == CAPTIONS[7] else translation(caption)) for caption in CAPTIONS[:10]]
    with caplog.at_level(logging.WARNING, "pipeline"):
        assert translate(CAPTIONS[:10]) == expected
    reason = "an answer without a translation: 'Google Translate en Home'"
    assert f"left without a translation ({reason}): {CAPTIONS[7]!r}" in caplog.text
    service.behaviour = lambda number, lines: ""
    assert translate(CAPTIONS[:10])[7] == translation(CAPTIONS[7])


def test_a_page_without_any_translation_stops_the_job_soon(service: Service, translate: Translate) -> None:
    """The page of a service that requires a person at a browser."""
    service.behaviour = lambda number, lines: "page"
    with pytest.raises(InputError, match=r"20 captions in a row were refused"):
        translate(CAPTIONS)
    assert len(service.requests) < 60


def test_urls_stay_within_the_services_limit(service: Service, translate: Translate) -> None:
    """A Chinese character takes nine bytes of a URL: 4,999 of them would be refused."""
    captions = [f"一只狗在追{number}个红色的球" * 3 for number in range(200)]
    answers = translate(captions)
    assert answers == list(map(translation, captions))
    assert all(len(lines) > 1 for lines in service.requests[:-1])
    assert len(service.lines) == len(captions)


@pytest.mark.parametrize("fault", ["429", "500", "503"])
def test_a_request_is_sent_again_after_a_failure(service: Service, translate: Translate, fault: str) -> None:
    service.behaviour = lambda number, lines: fault if number in (0, 1, 3) else ""
    assert translate(CAPTIONS) == list(map(translation, CAPTIONS))
    assert len(service.requests) == 6


def test_retry_after_is_honoured(service: Service, translate: Translate) -> None:
    service.behaviour = lambda number, lines: "429" if number == 0 else ""
    service.retry_after = "1"
    translate(CAPTIONS[:3])
    assert service.times[1] - service.times[0] >= 1


def test_a_longer_pause_than_patience_stops_cleanly_and_the_next_run_waits_for_it_too(
    service: Service, translate: Translate
) -> None:
    service.behaviour = lambda number, lines: "429" if number == 1 else ""
    service.retry_after = "100000"
    with pytest.raises(InputError, match=r"status 429.* 1\d\d of 400 captions are translated and kept in"):
        translate(CAPTIONS)
    with pytest.raises(InputError, match=r"a pause that an earlier answer asked for"):
        translate(CAPTIONS)
    assert len(service.requests) == 2


def test_patience_ends_when_no_answer_comes(service: Service, translate: Translate) -> None:
    service.behaviour = lambda number, lines: "503"
    with pytest.raises(InputError, match=r"0 of 400 captions .* 400 remain. Run the same command again"):
        translate(CAPTIONS, max_wait=0.2)


def test_a_service_that_refuses_stops_the_job_at_once_and_answers_are_kept(
    service: Service, translate: Translate
) -> None:
    service.behaviour = lambda number, lines: "403" if number == 1 else ""
    with pytest.raises(InputError, match=r"answered 403 Forbidden.* 1\d\d of 400 captions are translated"):
        translate(CAPTIONS)
    assert len(service.requests) == 2


def test_a_caption_that_is_too_long_for_the_service_blocks_no_other(
    service: Service, translate: Translate
) -> None:
    assert translate(["A dog.", "dog " * 2000, "A cat."]) == ["Aen dog.en", "", "Aen cat.en"]


def test_a_slow_answer_is_abandoned_and_requested_again(service: Service, translate: Translate) -> None:
    def slow_at_first(number: int, lines: list[str]) -> str:
        time.sleep(3 if number == 0 else 0)
        return ""

    service.behaviour = slow_at_first
    assert translate(CAPTIONS[:3], timeout=1.0) == list(map(translation, CAPTIONS[:3]))
    assert len(service.requests) == 2


@pytest.mark.parametrize("late", [0, 2.0])
def test_an_absent_server_is_waited_for_and_then_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: float
) -> None:
    """A busy machine may use up the patience between the refusal and the next request."""
    settings, limits = TranslatorSettings(url="http://127.0.0.1:9/m"), Limits(**{**FAST, "max_wait": 1.0})
    hold = Cache.hold

    def slow_hold(cache: Cache, name: str, seconds: float) -> None:
        hold(cache, name, seconds)
        time.sleep(late)

    monkeypatch.setattr(Cache, "hold", slow_hold)
    translator = machine_translator("google", "en", "de", settings, tmp_path / "c.sqlite", limits)
    with pytest.raises(InputError, match=r"ConnectionError.*0 of 1 captions"):
        translator.translate(["A dog."])


def test_the_days_requests_are_counted_over_runs(service: Service, translate: Translate) -> None:
    with pytest.raises(InputError, match=r"The 2 requests of this day \(UTC\) are used up .* \d+ remain"):
        translate(CAPTIONS, requests_per_day=2, max_connections=1)
    with pytest.raises(InputError, match=r"used up"):
        translate(CAPTIONS, requests_per_day=2)
    assert len(service.requests) == 2
    assert translate(CAPTIONS, requests_per_day=3) == list(map(translation, CAPTIONS))
    assert sorted(service.lines) == sorted(CAPTIONS)


def test_requests_keep_their_distance_over_connections(service: Service, translate: Translate) -> None:
    """Three requests, two seconds apart; on a busy machine the first may arrive late."""
    begin = time.time()
    translate(CAPTIONS, requests_per_second=0.5, max_connections=3)
    assert max(service.times) >= begin + 3.9


def test_answers_out_of_order_give_the_same_translations(service: Service, translate: Translate) -> None:
    def slow_at_times(number: int, lines: list[str]) -> str:
        time.sleep(random.Random(number).uniform(0, 0.1))
        return "merged" if number % 3 == 1 and len(lines) > 1 else ""

    service.behaviour = slow_at_times
    captions = [f"{caption} {'Very red balls. ' * 10}" for caption in CAPTIONS]
    assert translate(captions, max_connections=8) == list(map(translation, captions))
    assert len(service.requests) > len(captions) / 20


@pytest.mark.parametrize("fault", ["echo", "foreign"])
def test_answers_that_are_not_translations_are_listed_separately(
    service: Service, tmp_path: Path, fault: str, translate: Translate
) -> None:
    service.behaviour = lambda number, lines: fault
    translate(["A dog.", "NASA"])
    cache = Cache(tmp_path / "cache.sqlite")
    statuses = {row[5]: row[7] for row in cache.rows()}
    assert (
        statuses
        == {
            "echo": {"A dog.": "same", "NASA": "ok"},
            "foreign": {"A dog.": "script", "NASA": "script"},
        }[fault]
    )


def test_a_key_is_read_from_the_environment_and_written_nowhere(
    tmp_path: Path,
) -> None:
    """deep-translator reads keys when it is imported, so the test uses a new process."""
    secret = "s3cret/key"
    with stand_in() as service:
        url = service.url.removesuffix("/m")
        done = _run(tmp_path, "libre", url, ["A dog."], LIBRE_API_KEY=secret)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "Aen dog.en\n"
        lost = _run(tmp_path, "libre", "http://127.0.0.1:9/", ["A cat."], 0.5, LIBRE_API_KEY=secret)
    assert lost.returncode == 1
    assert "ConnectionError" in lost.stderr
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for text in (done.stdout, done.stderr, lost.stderr, kept.decode("latin-1")):
        assert "s3cret" not in text


def test_a_missing_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAIDU_APPID", raising=False)
    monkeypatch.delenv("BAIDU_APPKEY", raising=False)
    with pytest.raises(InputError, match=r"(?s)BAIDU_APPID is not set.*BAIDU_APPKEY is not set"):
        machine_translator("baidu", "en", "zh", TranslatorSettings(), tmp_path / "c.sqlite", Limits())


def test_a_language_that_a_service_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"google is not known to translate 'xx'\..*codes: \{xx: CODE\}"):
        machine_translator("google", "en", "xx", TranslatorSettings(), tmp_path / "c.sqlite", Limits())


def test_unknown_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown key 'beams'; known are url, version, codes, provider"):
        machine_translator("google", "en", "de", TranslatorSettings(beams=4), tmp_path / "c.sqlite", Limits())
    with pytest.raises(InputError, match="unknown key 'rate'; known are requests_per_second"):
        Limits.parse('{"rate": 1}')


SCRIPT = """
import json, logging, sys
from pathlib import Path
from pipeline.common.errors import InputError
from pipeline.translation.machine import machine_translator
from pipeline.translation.settings import Limits, TranslatorSettings
logging.basicConfig(level=logging.DEBUG)
provider, url, cache, limits, captions = sys.argv[1:]
try:
    settings = TranslatorSettings(url=url)
    translator = machine_translator(provider, "en", "de", settings, Path(cache), Limits.parse(limits))
    print("\\n".join(translator.translate(json.loads(Path(captions).read_text()))))
except InputError as error:
    sys.exit(str(error))
"""


def _command(folder: Path, provider: str, url: str, captions: list[str], **limits: Any) -> list[str]:
    limits = {"requests_per_second": 1e6, "max_pause": 0.01, "max_wait": 60, **limits}
    cache, file = folder / "cache.sqlite", folder / f"{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps(captions))
    return [sys.executable, "-c", SCRIPT, provider, url, str(cache), json.dumps(limits), str(file)]


def _run(
    folder: Path, provider: str, url: str, captions: list[str], max_wait: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = _command(folder, provider, url, captions, max_wait=max_wait)
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_a_killed_job_resumes_and_repeats_only_the_current_request(service: Service, tmp_path: Path) -> None:
    killed = threading.Event()

    def hold_the_fifth(number: int, lines: list[str]) -> str:
        if number == 4:
            killed.wait(60)
        return ""

    service.behaviour = hold_the_fifth
    captions = [f"{caption} {'Very red balls. ' * 20}" for caption in CAPTIONS]
    job = subprocess.Popen(_command(tmp_path, "google", service.url, captions), stdout=subprocess.DEVNULL)
    while len(service.requests) < 5:
        assert job.poll() is None
        time.sleep(0.01)
    job.send_signal(signal.SIGKILL)
    job.wait()
    killed.set()
    first = len(service.requests)
    done = _run(tmp_path, "google", service.url, captions)
    assert done.stdout.splitlines() == list(map(translation, captions))
    assert f"{sum(map(len, service.requests[: first - 1]))} cached" in done.stderr
    under_way = service.requests[first - 1]
    assert sorted(service.lines) == sorted([" ".join(caption.split()) for caption in captions] + under_way)


def test_two_jobs_share_a_cache(service: Service, tmp_path: Path) -> None:
    """With different captions none is requested twice; the day's requests are counted together."""
    service.latency = 0.02
    halves = [
        [f"{half} {caption} {'Very red balls. ' * 20}" for caption in CAPTIONS] for half in ("One", "Two")
    ]
    jobs = [
        subprocess.Popen(
            _command(tmp_path, "google", service.url, half),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for half in halves
    ]
    for job, half in zip(jobs, halves, strict=True):
        assert job.communicate()[0].splitlines() == list(map(translation, half))
    assert len(service.lines) == 2 * len(CAPTIONS)
    cache = Cache(tmp_path / "cache.sqlite")
    assert cache.reserve(service.url, 1e6, len(service.requests)) is None
    assert cache.reserve(service.url, 1e6, len(service.requests) + 1) is not None


def test_two_jobs_on_the_same_captions_end_with_the_same_table(tmp_path: Path) -> None:
    """Both may request a caption; both get the first answer."""
    model = Model("google", "", "en", "de")

    class Late:
        """Another job's answer comes while this one waits for its own."""

        def __init__(self) -> None:
            self.model = model

        def translate(self, texts: Any, keep: Any) -> None:
            Cache(path).add(model, {text: "first" for text in texts})
            keep({text: "second" for text in texts})

    path = tmp_path / "cache.sqlite"
    assert CachedTranslator(Late(), Cache(path)).translate(["A dog."]) == ["first"]


texts = st.lists(st.text(min_size=1).filter(lambda text: bool(text.strip())), max_size=50)


@given(texts)
def test_batches_hold_every_caption_once_in_order_and_fit(captions: list[str]) -> None:
    service = SERVICES["google"]._replace(characters=60, url_bytes=120)
    batches = list(request_batches(captions, service))
    assert [caption for batch in batches for caption in batch] == captions
    for batch in batches:
        assert len(batch) == 1 or len("\n".join(" ".join(text.split()) for text in batch)) <= 60


@given(texts.filter(lambda captions: len(captions) > 1), st.data())
def test_a_wrong_number_of_lines_is_never_accepted(captions: list[str], data: st.DataObject) -> None:
    lines = [" ".join(text.split()) for text in captions]
    count = data.draw(st.integers(0, 60).filter(lambda count: count != len(lines)))
    assert split_answer("\n".join(["Ein Satz."] * count), lines, "de") is None


def test_lines_with_the_same_letters_may_have_the_same_translation() -> None:
    """Of other lines it would be the answer to one of them, repeated."""
    assert split_answer("Ein Hund.\nEin Hund.", ["A dog.", "a dog"], "de") == ["Ein Hund."] * 2
    assert split_answer("Ein Hund.\nEin Hund.", ["A dog.", "A cat."], "de") is None
