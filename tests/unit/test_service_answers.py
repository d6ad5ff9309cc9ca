"""Answers of services with status 200, or in headers, that are not translations: never stored or followed."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from pipeline.common.errors import InputError
from pipeline.common.retry_after import retry_after_seconds
from pipeline.translation.cache import Cache, Model
from pipeline.translation.exchange import find_translations
from pipeline.translation.machine import machine_translator
from pipeline.translation.services import ServiceClient
from pipeline.translation.session import ServiceUnavailable
from pipeline.translation.settings import Limits, TranslatorSettings

FAST = Limits(requests_per_second=1e6, max_pause=0.01, max_wait=0.2)
NOTICE = "MYMEMORY WARNING: YOU USED ALL AVAILABLE FREE TRANSLATIONS FOR TODAY."


class Answering:
    """A server that gives each request the same answer, and counts them."""

    def __init__(self) -> None:
        self.status, self.body, self.headers, self.asked = 200, {}, {}, 0  # type: ignore[var-annotated]
        self.path = ""  # path of the latest request
        answering = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answering.asked += 1
                answering.path = self.path
                body = json.dumps(answering.body).encode()
                self.send_response(answering.status)
                headers = {"Content-Length": str(len(body)), **answering.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def service() -> Iterator[Answering]:
    answering = Answering()
    thread = threading.Thread(target=answering.server.serve_forever)
    thread.start()
    yield answering
    answering.server.shutdown()
    thread.join()
    answering.server.server_close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBRE_API_KEY", "s3cret")


def translate(provider: str, url: str, folder: Path) -> list[str]:
    settings = TranslatorSettings(url=url)
    translator = machine_translator(provider, "en", "de", settings, folder / "c.sqlite", FAST)
    return translator.translate(["A dog."])


def stored_rows(folder: Path) -> list[tuple[str, ...]]:
    return list(Cache(folder / "c.sqlite").rows())


def test_the_key_of_the_environment_is_sent(service: Answering, tmp_path: Path) -> None:
    """deep-translator was imported before the key was set."""
    service.body = {"translatedText": "Ein Hund."}
    assert translate("libre", service.url, tmp_path) == ["Ein Hund."]
    assert parse_qs(urlsplit(service.path).query)["api_key"] == ["s3cret"]


def test_a_null_is_not_a_translation(service: Answering, tmp_path: Path) -> None:
    service.body = {"translatedText": None}
    assert translate("libre", service.url, tmp_path) == [""]
    assert stored_rows(tmp_path) == []


@pytest.mark.parametrize("status", [200, 403, "403"])
def test_a_notice_of_quota_stops_the_job_and_is_not_kept(
    service: Answering, tmp_path: Path, status: int | str
) -> None:
    service.body = {"responseData": {"translatedText": NOTICE}, "responseStatus": status, "matches": []}
    with pytest.raises(InputError, match=r"notice instead of a translation|answered 200|quota"):
        translate("mymemory", service.url, tmp_path)
    assert stored_rows(tmp_path) == []


def test_an_answer_longer_than_any_translation_stops_the_job(service: Answering, tmp_path: Path) -> None:
    service.body = {"translatedText": "a" * (1 << 20)}
    with pytest.raises(InputError, match="more than 1,048,576 bytes: check its address"):
        translate("libre", service.url, tmp_path)
    assert stored_rows(tmp_path) == []


def test_a_status_inside_an_answer_counts(service: Answering, tmp_path: Path) -> None:
    service.body = {"responseData": {"translatedText": "wait"}, "responseStatus": 429, "matches": []}
    with pytest.raises(InputError, match="status 429"):
        translate("mymemory", service.url, tmp_path)
    assert stored_rows(tmp_path) == []


def test_a_key_is_not_sent_to_another_host(service: Answering, tmp_path: Path) -> None:
    service.status = 307
    service.headers = {"Location": service.url.replace("127.0.0.1", "localhost") + "translate"}
    with pytest.raises(
        InputError, match=r"redirects to http://localhost, where neither captions nor keys are sent"
    ):
        translate("libre", service.url, tmp_path)
    assert service.asked == 1


@pytest.mark.parametrize("header", ["9" * 400, "99999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_absurd_retry_after_is_a_day(header: str) -> None:
    assert retry_after_seconds(header) == 86_400


def test_an_absurd_retry_after_reaches_no_later_job(service: Answering) -> None:
    service.status, service.headers = 429, {"Retry-After": "9" * 400}
    with pytest.raises(ServiceUnavailable) as caught:
        ServiceClient("libre", "en", "de", service.url)("A dog.")
    assert caught.value.retry_after == 86_400


def test_libre_without_an_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="provider libre needs `url`, the address of your server"):
        machine_translator("libre", "en", "de", TranslatorSettings(), tmp_path / "c.sqlite", Limits())


def test_mymemory_is_asked_over_https() -> None:
    assert ServiceClient("mymemory", "en", "de").url.startswith("https://")


def test_answers_are_found_and_removed_by_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.sqlite"
    model = Model("mymemory", "", "en", "de")
    Cache(path).add(model, {"A dog.": NOTICE, "A cat.": "Eine Katze.", "A bird.": NOTICE})
    for remove, left in ((False, 3), (True, 1)):
        find_translations(path, "MYMEMORY", remove)
        assert Cache(path).count() == left
    told = capsys.readouterr().out
    assert f"mymemory en-de: 'A dog.' -> {NOTICE!r}" in told and "'A cat.'" not in told
    assert "2 answers found" in told and "2 answers removed" in told
    assert Cache(path).answers(model, ["A cat.", "A dog."]) == {"A cat.": "Eine Katze."}


def test_a_service_is_asked_with_the_codes_that_a_user_gives(service: Answering, tmp_path: Path) -> None:
    service.body = {"translatedText": "Ein Hund."}
    settings = TranslatorSettings(url=service.url, codes={"de": "de-AT"})
    translator = machine_translator("libre", "en", "de", settings, tmp_path / "c.sqlite", FAST)
    assert translator.translate(["A dog."]) == ["Ein Hund."]
    asked = parse_qs(urlsplit(service.path).query)
    assert (asked["source"], asked["target"]) == (["en"], ["de-AT"])
