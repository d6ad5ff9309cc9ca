"""Translation by a service: a real server on this machine that answers rightly, wrongly, slowly or not."""

import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_in_service import Service, stand_in, translation

from pipeline.common.errors import InputError
from pipeline.translation.settings import ProviderBlock
from pipeline.translation.web import SERVICES, WebTranslator, request_batches

CAPTIONS = [f"A dog runs after {number} red balls." for number in range(400)]

Translate = Callable[..., list[str]]


def web(
    url: str, folder: Path, provider: str = "google", pauses: tuple[float, ...] = (0.01,) * 3
) -> WebTranslator:
    settings = ProviderBlock.parse(f'{{"provider": "{provider}", "url": "{url}"}}')
    return WebTranslator("en", "de", settings, folder / "cache.sqlite", 1e6, pauses)


@pytest.fixture
def service() -> Iterator[Service]:
    with stand_in() as service:
        yield service


@pytest.fixture
def translate(service: Service, tmp_path: Path) -> Translate:
    """Translate captions into German by the stand-in, through one cache."""
    return lambda captions, **options: web(service.url, tmp_path, **options).translate(captions)


def test_equal_captions_are_requested_once_and_blank_ones_never(
    service: Service, translate: Translate
) -> None:
    assert translate(["A dog.", " ", "A cat.", "A dog."]) == ["Aen dog.en", "", "Aen cat.en", "Aen dog.en"]
    assert service.requests == [["A dog.", "A cat."]]


def test_no_caption_is_requested_twice_over_runs(service: Service, translate: Translate) -> None:
    translate(CAPTIONS[:200])
    assert translate(CAPTIONS) == list(map(translation, CAPTIONS))
    assert sorted(service.lines) == sorted(CAPTIONS)


def test_ten_thousand_captions_take_fifty_times_fewer_requests(
    service: Service, translate: Translate
) -> None:
    captions = [f"{number}: a man in a blue shirt is standing on a ladder." for number in range(10_000)]
    assert translate(captions) == list(map(translation, captions))
    assert len(service.requests) <= 200


def test_other_codes_of_a_language_are_requested_again(service: Service, tmp_path: Path) -> None:
    def requests(codes: str) -> int:
        text = f'{{"provider": "google", "url": "{service.url}", "codes": {codes}}}'
        settings = ProviderBlock.parse(text)
        WebTranslator("en", "de", settings, tmp_path / "cache.sqlite", 1e6).translate(["A dog."])
        return len(service.requests)

    assert list(map(requests, ('{"de": "de"}', '{"de": "de-AT"}', '{"de": "de", "zh": "zh-TW"}'))) == [
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("end", ["\r\n", "\u2028"])
def test_captions_with_line_ends_survive(service: Service, translate: Translate, end: str) -> None:
    captions = ["A dog.", f"A cat{end}and a mouse.{end}", "A horse."]
    assert translate(captions) == ["Aen dog.en", "Aen caten anden aen mouse.en", "Aen horse.en"]
    assert len(service.requests) == 1


@pytest.mark.parametrize("fault", ["merged", "dropped", "added", "blank"])
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


@pytest.mark.parametrize("fault", ["page", "400"])
def test_a_refused_caption_stays_without_a_translation_and_blocks_no_other(
    service: Service, translate: Translate, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    service.behaviour = lambda number, lines: fault if CAPTIONS[7] in lines else ""
    expected = [("" if caption == CAPTIONS[7] else translation(caption)) for caption in CAPTIONS[:10]]
    with caplog.at_level(logging.WARNING, "pipeline"):
        assert translate(CAPTIONS[:10]) == expected
    assert ("status 400" if fault == "400" else "TranslationNotFound") in caplog.text
    assert CAPTIONS[7] in caplog.text
    service.behaviour = lambda number, lines: ""
    assert translate(CAPTIONS[:10])[7] == translation(CAPTIONS[7])


@pytest.mark.parametrize("fault", ["page", "echo", "notice", "400"])
def test_a_service_that_translates_nothing_stops_the_job_soon(
    service: Service, translate: Translate, fault: str
) -> None:
    """As if its quota were used up, or it asked for a person at a browser; no answer is kept."""
    service.behaviour = lambda number, lines: fault if number else ""
    with pytest.raises(InputError, match=r"captions in a row .* 1\d\d of 400 captions are done"):
        translate(CAPTIONS)
    assert len(service.requests) < 60
    service.behaviour = lambda number, lines: ""
    assert translate(CAPTIONS) == list(map(translation, CAPTIONS))


@pytest.mark.parametrize("fault", ["429", "500", "503"])
def test_a_request_is_sent_again_after_a_failure(service: Service, translate: Translate, fault: str) -> None:
    service.behaviour = lambda number, lines: fault if number in (0, 1, 3) else ""
    assert translate(CAPTIONS) == list(map(translation, CAPTIONS))
    assert len(service.requests) == 6


def test_retry_after_is_honoured_up_to_the_longest_pause(service: Service, translate: Translate) -> None:
    service.behaviour = lambda number, lines: "429" if number in (0, 2) else ""
    service.retry_after = "1"
    assert translate(CAPTIONS[:3], pauses=(0.01, 2.0)) == list(map(translation, CAPTIONS[:3]))
    assert service.times[1] - service.times[0] >= 1
    service.retry_after = "100000"
    with pytest.raises(InputError, match=r"status 429.* wait for 27 h"):
        translate(CAPTIONS)
    assert len(service.requests) == 3


@pytest.mark.parametrize(("fault", "requests"), [("503", 5), ("403", 2), ("302", 2)])
def test_a_service_that_stays_away_or_refuses_stops_the_job_and_answers_are_kept(
    service: Service, translate: Translate, fault: str, requests: int
) -> None:
    service.behaviour = lambda number, lines: fault if number else ""
    with pytest.raises(InputError, match=rf"status {fault}.* 1\d\d of 400 captions .* same command again"):
        translate(CAPTIONS)
    assert len(service.requests) == requests


def test_an_absent_server_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1 .*ConnectionError.*0 of 1 captions"):
        web("http://127.0.0.1:9/m", tmp_path).translate(["A dog."])


def test_a_proxy_that_is_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InputError, match=r"127\.0\.0\.1 through the proxy .*http_proxy") as caught:
        web("http://127.0.0.1:8/m", tmp_path).translate(["A dog."])
    assert "secret" not in str(caught.value)


def test_a_caption_that_is_too_long_for_the_service_blocks_no_other(
    service: Service, translate: Translate
) -> None:
    assert translate(["A dog.", "dog " * 2000, "A cat."]) == ["Aen dog.en", "", "Aen cat.en"]


def test_requests_keep_their_distance(service: Service, tmp_path: Path) -> None:
    settings = ProviderBlock.parse(f'{{"provider": "google", "url": "{service.url}"}}')
    begin = time.time()
    WebTranslator("en", "de", settings, tmp_path / "cache.sqlite", 2).translate(CAPTIONS)
    assert len(service.requests) == 3
    assert max(service.times) >= begin + 0.99


def test_a_key_is_in_no_message_log_or_file(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither of a refused request, nor of one that is lost; the stand-in's pages repeat the request."""
    monkeypatch.setenv("LIBRE_API_KEY", "s3cret/key")
    url = service.url.removesuffix("/m")
    messages: list[str] = []
    with caplog.at_level(logging.DEBUG):
        assert web(url, tmp_path, "libre").translate(["A dog."]) == ["Aen dog.en"]
        service.behaviour = lambda number, lines: ["403", "400", "503"][number % 3]
        for address in (url, url, url, "http://127.0.0.1:9/"):
            try:
                web(address, tmp_path, "libre", ()).translate([f"A cat {len(messages)}."])
            except InputError as error:
                messages.append(str(error))
    assert len(messages) == 3
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("latin-1")
    for text in (*messages, caplog.text, kept):
        assert "s3cret" not in text


@pytest.mark.parametrize(
    ("provider", "sent"),
    [
        ("google", {"sl": "en", "tl": "zh-CN"}),
        ("libre", {"source": "en", "target": "zh", "api_key": "k"}),
        ("deepl", {"source_lang": "en", "target_lang": "zh", "auth_key": "k"}),
    ],
)
def test_services_are_asked_with_their_own_codes_and_keys(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, sent: dict[str, str]
) -> None:
    for key in ("DEEPL_API_KEY", "LIBRE_API_KEY"):
        monkeypatch.setenv(key, "k")
    service.behaviour = lambda number, lines: "403"
    settings = ProviderBlock.parse(f'{{"provider": "{provider}", "url": "{service.url}"}}')
    with pytest.raises(InputError, match="status 403"):
        WebTranslator("en", "zh", settings, tmp_path / "c.sqlite").translate(["A dog."])
    assert sent.items() <= service.queries[0].items()


def test_a_missing_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPL_API_KEY", raising=False)
    with pytest.raises(InputError, match="DEEPL_API_KEY is not set"):
        WebTranslator("en", "zh", ProviderBlock.parse('{"provider": "deepl"}'), tmp_path / "c.sqlite")


def test_a_killed_job_resumes_and_repeats_only_the_current_request(service: Service, tmp_path: Path) -> None:
    """Killed twice, at any moment: captions are requested once, or twice in an interrupted request."""
    captions = [f"{caption} {'Very red balls. ' * 20}".strip() for caption in CAPTIONS]
    table = tmp_path / "captions.txt"
    table.write_text("\n".join(captions))
    program = (
        "import sys; from pathlib import Path; from pipeline.translation.settings import ProviderBlock\n"
        "from pipeline.translation.web import WebTranslator\n"
        f'settings = ProviderBlock.parse(\'{{"provider": "google", "url": "{service.url}"}}\')\n'
        f"made = WebTranslator('en', 'de', settings, Path({str(tmp_path / 'cache.sqlite')!r}), 1e6)\n"
        f"print(*made.translate(Path({str(table)!r}).read_text().split('\\n')), sep='\\n')"
    )
    service.behaviour = lambda number, lines: time.sleep(0.02) or ""  # type: ignore[func-returns-value]
    for more in (random.randint(1, 8), random.randint(1, 8)):
        until = len(service.requests) + more
        job = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
        while len(service.requests) < until:
            assert job.poll() is None
            time.sleep(0.001)
        job.send_signal(signal.SIGKILL)
        job.wait()
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == list(map(translation, captions))
    longest = max(map(len, service.requests))
    assert len(captions) <= len(service.lines) <= len(captions) + 2 * longest


texts = st.lists(st.text(min_size=1).filter(lambda text: bool(text.strip())), max_size=50)


@given(texts)
def test_batches_hold_every_caption_once_in_order_and_fit(captions: list[str]) -> None:
    service = SERVICES["google"]._replace(characters=60, url_bytes=120)
    batches = list(request_batches(captions, service))
    assert [caption for batch in batches for caption in batch] == captions
    for batch in batches:
        text = "\n".join(" ".join(text.split()) for text in batch)
        assert len(batch) == 1 or (len(text) <= 60 and len(quote_plus(text)) <= 120)
