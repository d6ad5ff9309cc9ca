"""Answers of servers that are not translations, or never end: refused with the reason, and never stored."""

import base64
import html
import http.server
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from dripping import DRIPPING, Respond, answering, whole

from benchmarks.stand_in_service import PAGE
from pipeline.common.errors import InputError
from pipeline.common.http_limits import LimitedSession, TooSlow, time_limit
from pipeline.translation.answers import fault, unescape_answer
from pipeline.translation.cache import Cache
from pipeline.translation.machine import machine_translator
from pipeline.translation.service_languages import code_at, unlisted_message
from pipeline.translation.session import ServiceSession
from pipeline.translation.settings import Limits, TranslatorSettings

KEY = "s3cret/KEY+1"
FAST: dict[str, Any] = {"requests_per_second": 1e6, "max_pause": 0.01, "max_wait": 60, "timeout": 5.0}


def libre(answer: Callable[[str], str]) -> Respond:
    """A LibreTranslate server that answers each request's text in some way."""

    def respond(path: str) -> Iterator[bytes]:
        text = parse_qs(urlsplit(path).query)["q"][0]
        yield whole(json.dumps({"translatedText": answer(text)}))

    return respond


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBRE_API_KEY", KEY)


def translate(url: str, folder: Path, *captions: str, provider: str = "libre", **limits: Any) -> list[str]:
    settings = TranslatorSettings.from_values({"url": url}, "--settings: cannot be used:")
    allowed = Limits(**{**FAST, **limits})
    made = machine_translator(provider, "en", "de", settings, folder / "c.sqlite", allowed)
    return made.translate(captions or ("A dog runs.",))


def stored_answers(folder: Path) -> list[str]:
    return [row[6] for row in Cache(folder / "c.sqlite").rows()]


ESCAPED = {
    "l&#39;homme court": "l'homme court",
    "l&#x27;homme court": "l'homme court",
    "&quot;Ja&quot;, sagt er": '"Ja", sagt er',
    "des gar&ccedil;ons": "des garçons",
    "Salz &amp; Pfeffer": "Salz & Pfeffer",
    "ein&nbsp;Hund": "ein Hund",
    "&lt;3 Hunde": "<3 Hunde",
    "5 &gt; 3, &apos;na&apos;": "5 > 3, 'na'",
    "R&D und AT&T": "R&D und AT&T",
}


@pytest.mark.parametrize("answer", ESCAPED)
def test_references_of_a_service_that_escapes_are_undone_once(answer: str, tmp_path: Path) -> None:
    with answering(libre(lambda text: answer)) as url:
        assert translate(url, tmp_path) == [ESCAPED[answer]]
    assert stored_answers(tmp_path) == [ESCAPED[answer]]


def test_googles_page_that_escapes_twice_is_read(tmp_path: Path) -> None:
    def respond(path: str) -> Iterator[bytes]:
        result = f'<div class="result-container">{html.escape("l&#39;homme")}</div>'
        yield whole(PAGE.format(target="de", source="en", result=result), "text/html; charset=UTF-8")

    with answering(respond) as url:
        assert translate(url, tmp_path, provider="google") == ["l'homme"]


REFUSED = {
    "Ein &amp;#39;Hund&amp;#39; läuft": "an HTML reference (&#39;)",
    "Ein Hund & # 39; läuft": "a broken HTML reference",
    "Ein Hund &quot läuft": "a broken HTML reference",
    "les gar&ccedilons": "a broken HTML reference",
    "l%27homme court": "a percent escape",
    "%c3%a9t%c3%a9": "a percent escape",
    "M\\u00e4nner": "a backslash escape",
    "Ein Hund\\n läuft": "a backslash escape",
    "Ein <b>Hund</b> läuft": "an HTML tag (<b>)",
    "Ein Hund<br/>": "an HTML tag",
    "&lt;span class=&quot;x&quot;&gt;Hund": "an HTML tag",
    "Ein Hund <!-- mt -->": "an HTML tag",
    "Ein\x00Hund": "U+0000",
    "Ein\x1bHund": "U+001B",
    "M\ufffdnner": "U+FFFD",
    "M\x84nner": "U+0084",
    "M\ue000nner": "U+E000",
    "MÃ¤nner": "its character set is wrong",
    "â€žHund“ läuft": "its character set is wrong",
    "StraÃŸe": "its character set is wrong",
    "M?nner laufen": "its character set has lost letters",
    "???? ????": "its character set has lost letters",
    "1. Ein Hund läuft": "begins with '1.'",
    "(1) Ein Hund läuft": "as an item of a list",
    "1) Ein Hund läuft": "as an item of a list",
    "1 - Ein Hund läuft": "as an item of a list",
    "- Ein Hund läuft": "as an item of a list",
    "• Ein Hund läuft": "as an item of a list",
    "① Ein Hund läuft": "as an item of a list",
    "#1 Ein Hund läuft": "as an item of a list",
    "EIN HUND LÄUFT WEG": "all in capitals",
    "Internal Server Error": "a notice of the service",
    "Translation failed": "a notice of the service",
    "Error: 503": "a notice of the service",
    "Ein Hund läuft.\nMeinten Sie etwas anderes?": "2 lines for one",
    "Hund " * 400: "1,999 characters for 11",
}


@pytest.mark.parametrize("answer", REFUSED)
def test_an_answer_that_is_not_a_translation_is_refused_with_its_caption(
    answer: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with answering(libre(lambda text: answer)) as url, caplog.at_level(logging.WARNING, "pipeline"):
        assert translate(url, tmp_path) == [""]
    assert REFUSED[answer] in caplog.text
    assert "en-de: left without a translation" in caplog.text and "'A dog runs.'" in caplog.text
    assert stored_answers(tmp_path) == []


STOPPING = [
    "Quota exceeded, please upgrade.",
    "INVALID EMAIL PROVIDED",
    "'XX' IS AN INVALID TARGET LANGUAGE . EXAMPLE: LANGPAIR=EN|IT",
    "MYMEMORY WARNING: YOU USED ALL AVAILABLE FREE TRANSLATIONS FOR TODAY. NEXT AVAILABLE IN 9 HOURS",
    "PLEASE SELECT TWO DISTINCT LANGUAGES",
    "QUERY LENGTH LIMIT EXCEEDED. MAX ALLOWED QUERY : 500 CHARS",
    "NO QUERY SPECIFIED. EXAMPLE REQUEST: GET?Q=HELLO",
    "Too many requests",
    "Rate limit reached for this key",
    "Invalid API key",
    "Unauthorized",
    "Your account has exceeded its monthly limit.",
    "Das Kontingent ist ausgeschöpft",
]


@pytest.mark.parametrize("answer", STOPPING)
def test_a_notice_stops_the_job_with_the_pair_and_the_line(answer: str, tmp_path: Path) -> None:
    with (
        answering(libre(lambda text: answer)) as url,
        pytest.raises(
            InputError, match=r"(?s)libre en-de: .*notice instead of a translation.*'A dog runs\.'"
        ),
    ):
        translate(url, tmp_path, "A dog runs.", "A cat sits.")
    assert stored_answers(tmp_path) == []


def test_a_caption_that_contains_such_words_itself_is_translated(tmp_path: Path) -> None:
    captions = [
        "A sign says quota exceeded.",
        "100%25 off <b>now</b>",
        "1. A dog runs.",
        "WHY? A MAN SHOUTS LOUDLY",
        "R&#246;ntgen",
        "What?who knows",
    ]
    with answering(libre(lambda text: "\n".join(f"{line} Ja." for line in text.split("\n")))) as url:
        assert translate(url, tmp_path, *captions) == [f"{caption} Ja." for caption in captions]


def test_one_answer_for_all_captions_is_stored_for_none(tmp_path: Path) -> None:
    captions = [f"A dog runs after ball {number}." for number in range(30)]
    for answer in ("Ein Hund rennt.", "Bitte warten"):
        with (
            answering(libre(lambda text, line=answer: "\n".join(line for _ in text.split("\n")))) as url,  # type: ignore[misc]
            pytest.raises(InputError, match=r"5 captions \('A dog runs after ball 0\.', .*one answer"),
        ):
            translate(url, tmp_path, *captions)
        assert stored_answers(tmp_path) == []


def test_one_answer_for_only_three_captions_is_stored(tmp_path: Path) -> None:
    with (
        answering(libre(lambda text: "Ein Hund")) as url,
        pytest.raises(InputError, match=r"3 captions .*one answer, 'Ein Hund'"),
    ):
        translate(url, tmp_path, "A dog.", "A cat.", "A bird.")
    assert stored_answers(tmp_path) == []


def test_captions_that_mean_the_same_may_have_one_answer(tmp_path: Path) -> None:
    captions = ["A dog runs.", "A dog is running.", "A cat sits.", "A cat is sitting.", "A man"]
    meant = {"dog": "Ein Hund läuft.", "cat": "Eine Katze sitzt.", "man": "Ein Mann"}

    def answer(text: str) -> str:
        return "\n".join(next(meant[key] for key in meant if key in line) for line in text.split("\n"))

    with answering(libre(answer)) as url:
        assert translate(url, tmp_path, *captions) == list(map(answer, captions))
        assert translate(url, tmp_path / "two", *captions[:2]) == ["Ein Hund läuft."] * 2


def test_a_wrong_line_affects_no_other_line(tmp_path: Path) -> None:
    def answer(text: str) -> str:
        return "\n".join("M\ufffdnner" if "3" in line else f"Hund {line[-2]}" for line in text.split("\n"))

    captions = [f"A dog {number}." for number in range(8)]
    with answering(libre(answer)) as url:
        expected = ["" if "3" in caption else answer(caption) for caption in captions]
        assert translate(url, tmp_path, *captions) == expected


CHARSETS = {
    "UTF-8 without a charset": ("Männer".encode(), "text/html"),
    "UTF-8 said to be Latin-1": ("Männer".encode(), "text/html; charset=ISO-8859-1"),
    "Latin-1 that says so": ("Männer".encode("latin-1"), 'text/html; charset="iso-8859-1"'),
    "UTF-8 with a mark": ("Männer".encode("utf-8-sig"), "text/html; charset=utf-8"),
    "UTF-16": ("Männer".encode("utf-16"), "text/html"),
}


@pytest.mark.parametrize("name", CHARSETS)
@pytest.mark.parametrize("provider", ["libre", "google"])
def test_an_answer_is_read_in_its_character_set(name: str, provider: str, tmp_path: Path) -> None:
    text, kind = CHARSETS[name]
    encoding = {"UTF-16": "utf-16", "Latin-1 that says so": "latin-1"}.get(name, "utf-8")
    page = PAGE.format(target="de", source="en", result='<div class="result-container">Männer</div>')
    body = page if provider == "google" else json.dumps({"translatedText": "Männer"}, ensure_ascii=False)
    content = (b"\xef\xbb\xbf" if "mark" in name else b"") + body.encode(encoding)
    assert "Männer".encode(encoding)[-8:] in text
    kind = kind if provider == "google" else kind.replace("text/html", "application/json")
    with answering(lambda path: iter([whole(content, kind)])) as url:
        assert translate(url, tmp_path, provider=provider) == ["Männer"]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "text/html"])
def test_an_answer_that_is_not_utf8_and_names_nothing_else_stops(kind: str, tmp_path: Path) -> None:
    body = '{"translatedText": "Männer"}'.encode("latin-1")
    with (
        answering(lambda path: iter([whole(body, kind)])) as url,
        pytest.raises(InputError, match=r"another character set than UTF-8, and its header (says|names)"),
    ):
        translate(url, tmp_path)
    assert stored_answers(tmp_path) == []


NO_JSON = {
    "<html><title>Log in</title></html>": r"a web page \(Log in\) where JSON was expected: check its address",
    "not json": r"a text \(not json\) where JSON was expected",
    "[" * 100_000: "where JSON was expected",
    '{"translatedText": ' + "9" * 5000 + "}": "where JSON was expected",
    '{"error": "Invalid request: model is missing"}': "an error instead of a translation: Invalid request",
    '{"message": "Wrong endpoint"}': "an error instead of a translation: Wrong endpoint",
    '{"error": {"code": 429, "message": "slow down"}}': "an error instead of a translation: slow down",
    '{"translatedText": "Hund", "quotaFinished": true}': "the quota is finished",
}


@pytest.mark.parametrize("body", NO_JSON)
def test_an_answer_that_is_not_json_names_its_address(body: str, tmp_path: Path) -> None:
    with (
        answering(lambda path: iter([whole(body)])) as url,
        pytest.raises(InputError, match=rf"{url}translate answered .*{NO_JSON[body]}"),
    ):
        translate(url, tmp_path)
    assert stored_answers(tmp_path) == []


@pytest.mark.parametrize(
    "body", ["", "null", "{}", "[]", '{"translatedText": ["Hund"]}', '{"translatedText": 3}']
)
def test_an_empty_answer_is_refused(body: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with answering(lambda path: iter([whole(body)])) as url, caplog.at_level(logging.WARNING, "pipeline"):
        assert translate(url, tmp_path) == [""]
    assert "answered nothing" in caplog.text or "an answer without a translation" in caplog.text
    assert stored_answers(tmp_path) == []


def test_the_reason_for_a_refusal_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = '{"error": "en-de is not an enabled pair"}'
    with (
        answering(lambda path: iter([whole(body, status="400 Bad Request")])) as url,
        caplog.at_level(logging.WARNING, "pipeline"),
    ):
        assert translate(url, tmp_path) == [""]
    assert "status 400 (en-de is not an enabled pair)" in caplog.text
    with (
        answering(lambda path: iter([whole("<h1>No such page</h1>", "text/html", "404 Not Found")])) as url,
        pytest.raises(
            InputError, match=r"translate answered 404 Not Found \(No such page\): check its address"
        ),
    ):
        translate(url, tmp_path)


def test_googles_tags_join_no_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    page = PAGE.format(target="de", source="en", result='<div class="result-container">Ein <b>Hund</b></div>')
    with (
        answering(lambda path: iter([whole(page, "text/html")])) as url,
        caplog.at_level(logging.WARNING, "pipeline"),
    ):
        assert translate(url, tmp_path, provider="google") == [""]
    assert "an answer with HTML tags: 'Ein <b>Hund</b>'" in caplog.text


REPEATED = [
    KEY,
    KEY.lower(),
    "s3cret%2FKEY%2B1",
    "s3cret/KEY%2B1",
    "s3cret%252FKEY%252B1",
    "&#115;3cret&#47;KEY&#x2b;1",
    "s3cret <b>/KEY+1</b>",
    "s3cr et/KEY+1",
    "s-3-c-r-e-t-/-K-E-Y-+-1",
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(f"user:{KEY}".encode()).decode(),
    KEY.encode().hex(),
]


@pytest.mark.parametrize("key", REPEATED)
def test_no_message_repeats_a_key(key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bodies = {
        f"403 Forbidden for {key}": "{}",
        "403 Forbidden": json.dumps({"error": f"key {key} is blocked"}),
        "400 Bad": json.dumps({"error": f"key {key} is blocked"}),
        "503 Busy": json.dumps({"error": f"key {key} is blocked"}),
        "200 OK": json.dumps({"error": f"key {key} is blocked"}),
        "200 Fine": json.dumps({"translatedText": f"Ein Hund {key}"}),
        "200 Good": json.dumps({"translatedText": f"Quota of {key} exceeded"}),
        "200 Page": f"<title>{key}</title>",
    }
    messages = []
    for number, (status, body) in enumerate(bodies.items()):
        with (
            answering(lambda path, s=status, b=body: iter([whole(b, status=s)])) as url,  # type: ignore[misc]
            caplog.at_level(logging.DEBUG, "pipeline"),
        ):
            try:
                # An error that is tried again ends with the patience; the others need one answer.
                translate(url, tmp_path / str(number), max_wait=0.1 if status.startswith("503") else 60)
            except InputError as error:
                messages.append(str(error))
        assert stored_answers(tmp_path / str(number)) == []
    told = "\n".join([*messages, caplog.text])
    assert len(messages) == 7 and "$LIBRE_API_KEY" in told
    bare = "".join(filter(str.isalnum, told)).lower()
    for form in REPEATED:
        assert form.lower() not in told.lower()
        assert "".join(filter(str.isalnum, form)).lower() not in bare


def test_a_key_that_is_cut_short_is_not_repeated_in_part(tmp_path: Path) -> None:
    """Whether a message is cut after 200 characters or shows 80 characters of an answer."""
    for length in range(180, 200):
        body = json.dumps({"error": f"{'x' * length} {KEY}"})
        with (
            answering(lambda path, b=body: iter([whole(b, status="403 No")])) as url,  # type: ignore[misc]
            pytest.raises(InputError) as caught,
        ):
            translate(url, tmp_path / str(length))
        assert "s3c" not in str(caught.value)


@pytest.mark.parametrize("name", DRIPPING)
def test_a_server_that_drips_is_given_up(name: str, tmp_path: Path) -> None:
    begin = time.monotonic()
    with (
        answering(DRIPPING[name]) as url,
        pytest.raises(InputError, match=r"No answer for .*(no whole answer in 1 s|Error|Timeout)"),
    ):
        translate(url, tmp_path, max_wait=1.0)
    assert time.monotonic() - begin < 20
    assert stored_answers(tmp_path) == []


def test_a_redirect_loop_is_three_requests(tmp_path: Path) -> None:
    requests = []

    def respond(path: str) -> Iterator[bytes]:
        requests.append(path)
        yield b"HTTP/1.1 307 Again\r\nLocation: /translate?q=a\r\nContent-Length: 0\r\n\r\n"

    with (
        answering(respond) as url,
        pytest.raises(InputError, match="redirects in a circle: check its address"),
    ):
        translate(url, tmp_path)
    assert len(requests) == 3


def test_a_redirect_on_the_same_host_is_followed_without_its_body(tmp_path: Path) -> None:
    def respond(path: str) -> Iterator[bytes]:
        if path.startswith("/new"):
            yield whole('{"translatedText": "Ein Hund"}')
            return
        yield b"HTTP/1.1 308 Moved\r\nLocation: /new?q=a\r\n\r\n"
        while True:
            yield b" " * 65536

    with answering(respond) as url:
        assert translate(url, tmp_path) == ["Ein Hund"]


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (307, "POST"), (308, "POST")])
def test_a_redirect_keeps_the_method_if_its_status_says_so(status: int, method: str) -> None:
    """As in browsers and RFC 9110, Section 15.4."""
    methods = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            methods.append(self.command)
            self.send_response(200 if self.path == "/new" else status)
            self.send_header("Location", "/new")
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}" if self.path == "/new" else b"")

        do_GET = do_POST

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        session = ServiceSession(5, 10, in_json=True, secrets={})
        answer = session.request("POST", f"http://127.0.0.1:{server.server_port}/old", data={"q": "a"})
        server.shutdown()
    assert (answer.json(), methods) == ({}, ["POST", method])


@pytest.mark.parametrize("where", ["http://[::1", "http://localhost:99999999/", "//", "http:///x"])
def test_a_redirect_to_an_invalid_address(where: str, tmp_path: Path) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode()
    with answering(lambda path: iter([answer])) as url, pytest.raises(InputError, match="redirects "):
        translate(url, tmp_path)


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://host:99999999", "ftp://host", "localhost:5000", "http://"]
)
def test_an_invalid_address(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"url: found .*, expected an(other)? address"):
        translate(url, tmp_path)


def test_a_time_limit_ends_a_request_that_seems_complete() -> None:
    """A truncated body without a length looks complete."""
    with (
        answering(DRIPPING["body without a length"]) as url,
        pytest.raises(TooSlow, match="no whole answer in 0 s"),
        LimitedSession() as session,
        time_limit(0.3),
    ):
        session.get(url, timeout=5)


PAPERS = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]


@pytest.mark.parametrize(
    ("service", "codes"),
    [
        ("google", "en de fr cs zh-CN ja ar af ko ru"),
        ("microsoft", "en de fr cs zh-hans ja ar af ko ru"),
        ("deepl", "en de fr cs zh ja ar af ko ru"),
        ("libre", "en de fr cs zh ja ar af ko ru"),
        ("baidu", "en de fra cs zh jp ara af kor ru"),
        ("mymemory", "en-GB de-DE fr-FR cs-CZ zh-CN ja-JP ar-SA af-ZA ko-KR ru-RU"),
    ],
)
def test_services_are_asked_with_their_own_codes(service: str, codes: str) -> None:
    """The codes of the papers' ten languages; the data sets' Chinese is simplified."""
    assert [code_at(service, code, {}) for code in PAPERS] == codes.split()


def test_other_codes_of_services() -> None:
    assert (code_at("google", "he", {}), code_at("baidu", "es", {})) == ("iw", "spa")
    assert code_at("google", "he", {"he": "he"}) == "he"


def test_languages_that_a_library_of_2023_lacks_are_translated() -> None:
    for service, code in [
        ("libre", "af"),
        ("deepl", "ar"),
        ("deepl", "ko"),
        ("google", "he"),
        ("baidu", "es"),
    ]:
        assert unlisted_message(service, ["en", code], {}) == ""
    assert "deepl is not known to translate 'af'" in unlisted_message("deepl", ["en", "af"], {})
    assert unlisted_message("deepl", ["en", "af"], {"af": "AF"}) == ""


def test_french_quotation_marks_are_not_a_wrong_character_set() -> None:
    for answer in ("« à «\u00a0non\u00a0»", "été…» dit-il", "Spaß“ – groß", "VOILÀ, l’ÉTÉ…", "naïve façade"):
        assert fault("a caption of some length", answer, "fr") == ""


def test_a_caption_with_an_html_reference_gets_its_answer_unchanged() -> None:
    assert unescape_answer("Q&amp;A", "F&amp;A") == "F&amp;A"
    assert unescape_answer("Q&A", "F&amp;A") == "F&A"
