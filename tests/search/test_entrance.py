"""Checks of every request to the page: prefix, host or token. Links of the page are relative."""

import http.client
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import pytest
from searched import Answer, listening

from pipeline.common.errors import InputError
from search.entrance import HEADERS, check_prefix, read_token
from search.serve import create_app

TOKEN = "a-token-of-more-than-20-letters"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def open_page() -> Iterator[int]:
    with listening(create_app([])) as port:
        yield port


@pytest.fixture(scope="module")
def page_with_token() -> Iterator[int]:
    """A page with a token below a path that its proxy passes on."""
    with listening(create_app([], TOKEN, prefix="/node/host/8000")) as port:
        yield port


def answer_to(port: int, path: str, headers: Mapping[str, str] | None = None) -> Answer:
    """The answer to one request; redirects are not followed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=dict(headers or {}))
    answer = connection.getresponse()
    named = {name.lower(): value for name, value in answer.getheaders()}
    found = Answer(answer.status, named, answer.read())
    connection.close()
    return found


def test_every_link_of_the_page_is_relative() -> None:
    page = files("search") / "page"
    html, script = ((page / name).read_text(encoding="utf-8") for name in ("index.html", "page.js"))
    links = re.findall(r"""(?:href|src|action)="([^"]*)\"""", html)
    assert {"page/page.js", "page/page.css", "page/icon.svg", "openapi.json"} <= set(links)
    assert [link for link in links if link.startswith("/") or ":" in link] == []
    assert re.findall(r"""["'`]/\w[^"'`]*["'`]""", script) == []
    assert "api/indexes" in script


def test_the_token_leaves_the_address_and_the_path_stays(page_with_token: int) -> None:
    for path in (f"/?token={TOKEN}", f"/node/host/8000/?token={TOKEN}"):
        answer = answer_to(page_with_token, f"{path}&q=a+dog&index=1")
        assert (answer.status, answer.headers["location"]) == (303, "?q=a+dog&index=1")
        assert answer.headers["set-cookie"] == f"token={TOKEN}; HttpOnly; SameSite=strict"  # no Path
        assert answer_to(page_with_token, path).headers["location"] == "?"
    assert answer_to(page_with_token, f"/node/host/8000/openapi.json?token={TOKEN}").status == 401


def test_a_prefix_that_a_proxy_passes_on_is_left_out(page_with_token: int) -> None:
    for path in ("/api/indexes", "/node/host/8000/api/indexes"):
        assert answer_to(page_with_token, path, BEARER).json == []
        assert answer_to(page_with_token, path).status == 401
    assert b"<title>" in answer_to(page_with_token, "/node/host/8000/", BEARER).body
    answer = answer_to(page_with_token, "/node/host/8000?q=dog", BEARER)
    assert (answer.status, answer.headers["location"]) == (308, "/node/host/8000/?q=dog")
    assert answer_to(page_with_token, "/node/host/8000", BEARER).headers["location"] == "/node/host/8000/"
    for path in ("/node/host/8000x/api/indexes", "/node/host/api/indexes", "/node/host/8000/node/host/8000/"):
        assert answer_to(page_with_token, path, BEARER).status == 404


def test_without_a_token_only_this_machine_is_answered_by_its_name(open_page: int) -> None:
    for host in ("127.0.0.1", "localhost", "localhost:8000"):
        assert answer_to(open_page, "/api/indexes", {"Host": host}).status == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil.example:80"):
        answer = answer_to(open_page, "/api/indexes", {"Host": host})
        assert answer.status == 400
        assert answer.json["error"].startswith("Without a token, only requests to 127.0.0.1 or localhost are")
        assert f"this request is to {host!r}. For a proxy" in answer.json["error"]


def test_every_answer_has_the_headers(open_page: int, page_with_token: int) -> None:
    for port, path, status in (
        (open_page, "/", 200),
        (open_page, "/nothing", 404),
        (page_with_token, "/", 401),
        (page_with_token, f"/?token={TOKEN}", 303),
    ):
        answer = answer_to(port, path)
        assert answer.status == status
        assert HEADERS.items() <= {name.title(): value for name, value in answer.headers.items()}.items()


def test_a_prefix_must_be_a_path() -> None:
    for prefix in (
        "",
        "/x",
        "/node/host.of.mine/8000",
        "/user/me@host",
        "/user/me%40host/a%20b",
        "/用户/é",
        "/a..b",
    ):
        check_prefix(prefix)
    for prefix in ("x", "/x/", "/", "//x", "/x y", "https://a/x", "/x?y", "/x#y", "/x\n", "/a\\b", "/\u200b"):
        with pytest.raises(InputError, match="expected a path such as /node/host/8000"):
            check_prefix(prefix)


@pytest.mark.parametrize(
    "prefix", ["/a/../b", "/.", "/a/%2e%2E/b", "/a%2f..%2fb", "/a%", "/a%zz", "/%ff", "/%00"]
)
def test_a_prefix_has_no_dot_segments_and_whole_escapes(prefix: str) -> None:
    with pytest.raises(InputError, match=r"expected a path such as /node/host/8000, without \. or \.\."):
        check_prefix(prefix)


@pytest.mark.parametrize("prefix", ["/user/me@host/é%20a", "/user/me%40host/%C3%A9%20a"])
def test_a_prefix_is_matched_however_a_path_is_escaped(prefix: str) -> None:
    with listening(create_app([], TOKEN, prefix=prefix)) as port:
        for path in ("/user/me@host/%c3%a9%20a", "/user/me%40host/%C3%A9%20a"):
            assert answer_to(port, f"{path}/api/indexes", BEARER).json == []
            answer = answer_to(port, f"{path}?q=dog", BEARER)
            assert (answer.status, answer.headers["location"]) == (308, "/user/me%40host/%C3%A9%20a/?q=dog")


def test_a_token_must_be_long_and_plain(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f" {TOKEN}\n")
    assert read_token(path) == TOKEN
    path.write_text("x" * 20)
    assert read_token(path) == "x" * 20
    for text in ("", "short", "x" * 19, "x" * 20 + " y", "ü" * 30, "a" * 30 + "/"):
        path.write_text(text)
        with pytest.raises(InputError, match="expected a token of at least 20 letters, digits"):
            read_token(path)
