"""Downloads from a real HTTP server, files and mirrors: complete, resumed or refused."""

import csv
import email.utils
import errno
import gzip
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dripping import DRIPPING, Respond, answering, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Request, Trouble, serving

from pipeline.common.errors import InputError
from pipeline.datasets import first_use
from pipeline.datasets.content import truncation_message
from pipeline.datasets.download import download_file
from pipeline.datasets.flickr8k import image_id
from pipeline.datasets.sources import flickr8kcn, multi30k
from pipeline.datasets.transfer import Patience

CONTENT = b"".join(b"%06d: one caption a line\n" % number for number in range(40_000))  # 1.08 MB
DIGEST = hashlib.sha256(CONTENT).hexdigest()
HASTE = Patience(attempts=3, first=0.01, longest=0.02, retry_after=1.0, timeout=5.0)
FILE = "host.org/file.txt"
ROOT = Path(__file__).parents[2]


class Web:
    """The server, the requests that it got, and one download from it."""

    def __init__(self, url: str, folder: Path, troubles: dict[str, Trouble], asked: list[Request]):
        self.url, self.folder, self.troubles, self.asked = url, folder, troubles, asked
        self.output = folder.parent / "made" / "file.txt"
        self.part = self.output.with_name(".file.txt.part")

    def put(self, file: str, content: bytes = CONTENT) -> str:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return f"{self.url}/{file}"

    def download(self, *urls: str, digest: str = DIGEST, file: str = FILE, **options: Any) -> bytes:
        download_file(urls or [f"{self.url}/{FILE}"], self.output, file, digest, patience=HASTE, **options)
        return self.output.read_bytes()

    def ranges(self) -> list[str]:
        return [request.range for request in self.asked]

    def left_over(self) -> list[str]:
        return sorted(path.name for path in self.output.parent.glob("*") if path != self.output)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    troubles: dict[str, Trouble] = {}
    asked: list[Request] = []
    with serving(tmp_path / "web", troubles, asked) as url:
        web = Web(url, tmp_path / "web", troubles, asked)
        web.put(FILE)
        yield web


def _after_the_first_drop(web: Web, at: int = 300_000) -> None:
    """Leave a partial file of `at` bytes, as an abandoned download does."""
    web.troubles[FILE] = Trouble(drop_after=at, times=1)
    web.troubles[FILE].times = None
    patience = Patience(attempts=1, first=0, timeout=5)
    with pytest.raises(InputError, match=rf"{at:,} bytes are kept"):
        download_file([f"{web.url}/{FILE}"], web.output, FILE, DIGEST, patience=patience)
    assert web.part.read_bytes() == CONTENT[:at]
    web.troubles.clear()
    web.asked.clear()


# Whole


def test_a_whole_file_replaces_the_earlier_one(web: Web) -> None:
    web.output.parent.mkdir()
    web.output.write_text("earlier")
    assert web.download(digest=DIGEST.upper(), size=len(CONTENT)) == CONTENT
    assert web.left_over() == []


def test_redirects_are_followed(web: Web) -> None:
    web.troubles["old.org/x"] = Trouble(status=302, headers={"Location": f"/{FILE}"})
    assert web.download(f"{web.url}/old.org/x") == CONTENT


def test_a_file_without_content_length_is_checked_by_its_digest(web: Web) -> None:
    web.troubles[FILE] = Trouble(length="")
    assert web.download() == CONTENT
    web.troubles[FILE] = Trouble(length="", content=CONTENT[:-1])
    with pytest.raises(InputError, match="sha256: found"):
        web.download()
    assert web.output.read_bytes() == CONTENT
    assert web.left_over() == []


def test_an_empty_file_is_a_file(web: Web) -> None:
    web.put(FILE, b"")
    assert web.download(digest=hashlib.sha256(b"").hexdigest(), size=0) == b""
    assert web.left_over() == []


def test_a_server_that_compresses_unasked_is_understood(web: Web) -> None:
    packed = gzip.compress(CONTENT)
    web.troubles[FILE] = Trouble(content=packed, headers={"Content-Encoding": "gzip"})
    assert web.download(size=len(CONTENT)) == CONTENT


def test_a_gz_file_that_is_declared_as_encoded_stays_compressed(web: Web) -> None:
    packed = gzip.compress(CONTENT)
    url = web.put("host.org/file.gz", packed)
    web.troubles["host.org/file.gz"] = Trouble(headers={"Content-Encoding": "gzip"})
    digest = hashlib.sha256(packed).hexdigest()
    assert web.download(url, digest=digest, file="host.org/file.gz") == packed


# Continued


def test_a_dropped_connection_is_resumed(web: Web) -> None:
    web.troubles[FILE] = Trouble(drop_after=400_000, times=2)
    assert web.download() == CONTENT
    assert web.ranges() == ["", "bytes=400000-", "bytes=800000-"]
    assert [request.status for request in web.asked] == [200, 206, 206]


def test_attempts_count_from_the_last_progress(web: Web) -> None:
    web.troubles[FILE] = Trouble(drop_after=200_000)  # six connections; three may make no progress
    assert web.download() == CONTENT
    assert len(web.asked) == 6


def test_an_abandoned_download_is_resumed_by_the_next_call(web: Web) -> None:
    _after_the_first_drop(web)
    assert web.download() == CONTENT
    assert web.ranges() == ["bytes=300000-"]
    assert web.left_over() == []


def test_a_complete_part_requests_nothing(web: Web) -> None:
    _after_the_first_drop(web)
    web.part.write_bytes(CONTENT)  # killed between the last byte and the move
    assert web.download() == CONTENT
    assert web.asked == []


def test_a_complete_part_of_unknown_size_makes_one_request(web: Web) -> None:
    content = CONTENT[: 1 << 20]  # whole chunks: none is left in the reader
    web.put(FILE, content)
    web.troubles[FILE] = Trouble(length="", hold_after=len(content))
    with _process(web) as process:
        _wait_for(web.part, len(content))
        process.kill()
        process.wait()
    web.troubles.clear()
    web.asked.clear()
    assert web.download(digest=hashlib.sha256(content).hexdigest()) == content
    assert web.asked == [Request(FILE, f"bytes={len(content)}-", 416)]


def test_a_changed_file_starts_over(web: Web) -> None:
    _after_the_first_drop(web)
    changed = CONTENT[::-1]
    web.put(FILE, changed)  # and so its ETag
    assert web.download(digest=hashlib.sha256(changed).hexdigest()) == changed
    assert [(request.range, request.status) for request in web.asked] == [("bytes=300000-", 200)]


def test_a_server_that_ignores_if_range_is_caught_by_its_etag(web: Web) -> None:
    _after_the_first_drop(web)
    rest = CONTENT[::-1][300_000:]
    size = len(CONTENT)
    headers = {"ETag": '"new"', "Content-Range": f"bytes 300000-{size - 1}/{size}"}
    web.troubles[FILE] = Trouble(times=1, status=206, headers=headers, content=rest)
    assert web.download() == CONTENT
    assert web.ranges() == ["bytes=300000-", ""]


@pytest.mark.parametrize("tag", ["", 'W/"weak"'])
def test_without_a_strong_validator_the_download_starts_over(web: Web, tag: str) -> None:
    web.troubles[FILE] = Trouble(drop_after=400_000, times=1, headers={"ETag": tag})
    assert web.download() == CONTENT
    assert web.ranges() == ["", ""]


def test_last_modified_is_a_validator_too(web: Web) -> None:
    headers = {"ETag": "", "Last-Modified": "Sat, 01 Mar 2025 10:00:00 GMT"}
    web.troubles[FILE] = Trouble(drop_after=600_000, headers=headers)
    assert web.download() == CONTENT
    assert web.ranges() == ["", "bytes=600000-"]


def test_a_server_without_ranges_starts_over_and_fails_in_the_end(web: Web) -> None:
    web.troubles[FILE] = Trouble(drop_after=400_000, ranges=False)
    with pytest.raises(InputError, match=r"400000 bytes read.*3 attempts without progress"):
        web.download()
    assert len(web.asked) == 3
    web.troubles[FILE] = Trouble(ranges=False)
    assert web.download() == CONTENT


def test_a_damaged_origin_starts_over(web: Web) -> None:
    _after_the_first_drop(web)
    web.part.with_name(".file.txt.part.json").write_text('{"url": ')
    assert web.download() == CONTENT
    assert web.ranges() == [""]


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 5000), max_size=6), size=st.integers(0, 5000), ranges=st.booleans())
def test_any_drops_end_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], size: int, ranges: bool
) -> None:
    folder = tmp_path_factory.mktemp("drops")
    content = CONTENT[:size]
    (folder / "web" / "h").mkdir(parents=True)
    (folder / "web" / "h" / "f").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    troubles: dict[str, Trouble] = {}
    with serving(folder / "web", troubles) as url:
        for cut in cuts:
            troubles["h/f"] = Trouble(drop_after=cut, ranges=ranges)
            try:
                download_file([f"{url}/h/f"], folder / "f", "h/f", digest, patience=Patience(1, 0, timeout=5))
            except InputError as error:
                assert "broke off" in str(error)
        troubles.clear()
        download_file([f"{url}/h/f"], folder / "f", "h/f", digest, patience=HASTE)
    assert (folder / "f").read_bytes() == content
    assert sorted(path.name for path in folder.iterdir()) == ["f", "web"]


# Retries


@pytest.mark.parametrize("status", [408, 429, 500, 503, 520])
def test_temporary_failures_are_retried(web: Web, status: int) -> None:
    web.troubles[FILE] = Trouble(status=status, times=2)
    assert web.download() == CONTENT
    assert len(web.asked) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_permanent_failures_are_not_retried(web: Web, status: int) -> None:
    web.troubles[FILE] = Trouble(status=status)
    with pytest.raises(InputError, match=f"the server answered {status}"):
        web.download()
    assert len(web.asked) == 1
    assert web.left_over() == []


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured_and_capped(web: Web, form: str) -> None:
    after = "3000" if form == "seconds" else email.utils.formatdate(time.time() + 3000, usegmt=True)
    web.troubles[FILE] = Trouble(status=429, times=1, headers={"Retry-After": after})
    begun = time.monotonic()
    assert web.download() == CONTENT
    assert HASTE.retry_after <= time.monotonic() - begun < 60


def test_a_meaningless_retry_after_is_ignored(web: Web) -> None:
    web.troubles[FILE] = Trouble(status=503, times=1, headers={"Retry-After": "soon"})
    assert web.download() == CONTENT


def test_a_silent_server_is_abandoned(web: Web) -> None:
    web.troubles[FILE] = Trouble(hold_after=0)
    patience = Patience(attempts=2, first=0.01, timeout=0.3)
    with pytest.raises(InputError, match=r"timed out|no whole answer"):
        download_file([f"{web.url}/{FILE}"], web.output, FILE, DIGEST, patience=patience)
    web.troubles[FILE].go_on.set()


def always(answer: bytes) -> Respond:
    return lambda path: iter([answer])


def test_no_password_is_in_a_message_whatever_the_server_or_the_proxy_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password tell-nobody\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    repeated = whole("", status=f"403 me:tell-nobody {b64encode(b'me:tell-nobody').decode()}")
    broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\x1b[31mtell\r\n" + b"x" * 9999
    title = b64encode(b"me:tell-nobody").decode()
    for answer, message in (
        (repeated, "the server answered 403 Forbidden"),
        (
            whole(f"<html><title>No, {title}, tell-<b>nobody</b></title>", "text/html"),
            "the server sent a page",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<html><title>tell%2Dnobody</title>",
            "the server sent",
        ),
        (broken, "the transfer broke off: "),
    ):
        with answering(always(answer)) as url, pytest.raises(InputError) as caught:
            download_file([f"{url}x"], tmp_path / "x", FILE, DIGEST, patience=HASTE)
        assert message in str(caught.value)
        assert not re.search(r"tell.{0,5}nobody|dGVsbC1|\x1b", str(caught.value))
        assert (
            "bWU6" not in str(caught.value) or message == "the server sent a page"
        )  # the user's name, in a title
        assert len(str(caught.value)) < 1000
    monkeypatch.setenv("http_proxy", "http://me:tell-nobody@127.0.0.1:1/x")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(InputError, match="no answer") as caught:
        download_file(["http://host.invalid/x"], tmp_path / "x", FILE, DIGEST, patience=HASTE)
    assert "tell-nobody" not in str(caught.value)


@pytest.mark.parametrize("name", DRIPPING)
def test_a_server_that_drips_is_given_up(name: str, tmp_path: Path) -> None:
    patience = Patience(attempts=2, first=0.01, timeout=0.4)
    begin = time.monotonic()
    with answering(DRIPPING[name]) as url, pytest.raises(InputError, match="the last of 2 attempts"):
        download_file([f"{url}f"], tmp_path / "f", "h/f", DIGEST, patience=patience)
    assert time.monotonic() - begin < 20


def test_a_slow_transfer_that_makes_progress_continues(tmp_path: Path) -> None:
    def respond(path: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"
        for _ in range(16):
            yield bytes(1 << 16)
            time.sleep(0.15)

    patience = Patience(attempts=1, timeout=1.0, slowest=250_000)
    digest = hashlib.sha256(bytes(1 << 20)).hexdigest()
    with answering(respond) as url:
        download_file([f"{url}f"], tmp_path / "f", "h/f", digest, patience=patience)


def test_redirects_are_followed_without_their_bodies_and_not_in_circles(tmp_path: Path) -> None:
    asked: list[str] = []

    def respond(path: str) -> Iterator[bytes]:
        asked.append(path)
        if path == "/end":
            yield whole(CONTENT, "text/plain")
            return
        where = "/end" if path == "/first" else "/circle"
        yield f"HTTP/1.1 302 Found\r\nLocation: {where}\r\n\r\n".encode()
        while True:
            yield bytes(1 << 16)

    with answering(respond) as url:
        download_file([f"{url}first"], tmp_path / "f", "h/f", DIGEST, patience=HASTE)
        assert asked == ["/first", "/end"]
        with pytest.raises(InputError, match="redirects more than 5 times"):
            download_file([f"{url}circle"], tmp_path / "g", "h/f", DIGEST, patience=HASTE)
    assert len(asked) == 8


@pytest.mark.parametrize("where", ["http://[::1", "ftp://host/x", "http://host:99999999/"])
def test_a_redirect_to_an_invalid_address(where: str, tmp_path: Path) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode()
    with answering(lambda path: iter([answer])) as url, pytest.raises(InputError, match=r"address|ftp"):
        download_file([f"{url}f"], tmp_path / "f", "h/f", DIGEST, patience=HASTE)


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1e3", "0x10"])
def test_an_invalid_length_is_ignored(length: str, web: Web) -> None:
    web.troubles[FILE] = Trouble(length=length)
    assert web.download() == CONTENT


def test_an_absent_server_is_an_input_error(web: Web) -> None:
    with pytest.raises(InputError, match=r"give a mirror(?s:.*)no answer.*3 attempts"):
        web.download("http://127.0.0.1:1/file")
    assert web.left_over() == []


# Several URLs


def test_the_next_url_is_tried_when_one_has_failed(web: Web) -> None:
    web.troubles["a.org/x"] = Trouble(status=404)
    web.troubles["b.org/x"] = Trouble(content=b"another file")
    assert web.download(f"{web.url}/a.org/x", f"{web.url}/b.org/x", f"{web.url}/{FILE}") == CONTENT
    assert [request.path for request in web.asked] == ["a.org/x", "b.org/x", FILE]


def test_the_message_names_what_each_url_answered(web: Web) -> None:
    web.troubles["a.org/x"] = Trouble(status=403)
    web.troubles["b.org/x"] = Trouble(content=b"another file")
    with pytest.raises(InputError, match=r"(?s)a.org/x: the server answered 403.*b.org/x: sha256: found"):
        web.download(f"{web.url}/a.org/x", f"{web.url}/b.org/x")
    assert web.left_over() == []


def test_the_url_of_the_part_comes_first(web: Web) -> None:
    _after_the_first_drop(web)
    assert web.download(web.put("a.org/x"), f"{web.url}/{FILE}") == CONTENT
    assert web.asked == [Request(FILE, "bytes=300000-", 206)]


def test_a_failed_url_keeps_the_part_from_another(web: Web) -> None:
    _after_the_first_drop(web)
    with pytest.raises(InputError, match="300,000 bytes are kept"):
        web.download(f"{web.url}/nowhere")
    assert web.part.read_bytes() == CONTENT[:300_000]


# Refused


@pytest.mark.parametrize(
    ("trouble", "size", "message"),
    [
        (
            Trouble(content=CONTENT[:-1]),
            len(CONTENT),
            f"size: found {len(CONTENT) - 1} bytes; expected {len(CONTENT)}",
        ),
        (Trouble(content=CONTENT + b"."), len(CONTENT), f"size: found {len(CONTENT) + 1} bytes"),
        (
            Trouble(length="", content=CONTENT + b"."),
            len(CONTENT),
            f"received more than the expected {len(CONTENT)} bytes",
        ),
        (
            Trouble(length="", content=CONTENT[:-1]),
            len(CONTENT),
            f"size: found {len(CONTENT) - 1} bytes; expected {len(CONTENT)}",
        ),
        (Trouble(length=str(len(CONTENT) - 1)), None, "sha256: found"),
        (Trouble(length=str(len(CONTENT) + 1)), None, "without progress"),
        (Trouble(content=b"another file"), None, f"sha256: found [0-9a-f]{{64}}; expected {DIGEST}"),
    ],
)
def test_a_different_file_is_refused(web: Web, trouble: Trouble, size: int | None, message: str) -> None:
    web.output.parent.mkdir()
    web.output.write_text("earlier")
    web.troubles[FILE] = trouble
    with pytest.raises(InputError, match=message):
        web.download(size=size)
    assert web.output.read_text() == "earlier"
    # Only what may be the beginning of the file is kept.
    assert bool(web.left_over()) == (message == "without progress")


def test_a_wrong_digest_keeps_nothing(web: Web) -> None:
    with pytest.raises(InputError, match=rf"found {DIGEST}; expected {'0' * 64}; nothing of it was kept"):
        web.download(digest="0" * 64)
    assert web.left_over() == []


PAGE = b"\n<!DOCTYPE HTML><html><head><title>\n Please  log in </title></head></html>" + b" " * 1000


@pytest.mark.parametrize("name", ["a.zip", "a.gz", "a.tar.gz", "a.tar", "a.txt", "a.vec"])
@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_page_in_place_of_a_file_is_refused(web: Web, name: str, kind: str) -> None:
    web.troubles[f"h/{name}"] = Trouble(content=PAGE, headers={"Content-Type": kind})
    with pytest.raises(
        InputError, match=r"sent a page, perhaps a login or a moved file; its title: 'Please log in'"
    ):
        web.download(f"{web.url}/h/{name}", file=f"h/{name}", digest="first use")
    assert web.left_over() == []


def test_a_page_in_an_answer_does_not_change_the_part(web: Web) -> None:
    _after_the_first_drop(web)
    web.troubles[FILE] = Trouble(content=PAGE, times=1)
    with pytest.raises(InputError, match="sent a page"):
        web.download()
    assert web.download() == CONTENT
    assert web.ranges() == ["bytes=300000-", "bytes=300000-"]


@pytest.mark.parametrize("name", ["a.zip", "a.gz", "a.tgz", "a.tar.bz2", "a.tar.xz"])
def test_wrong_first_bytes_are_refused(web: Web, name: str) -> None:
    with pytest.raises(InputError, match=r"not a \.\w+ file: it begins with b'000000: '"):
        web.download(web.put(f"h/{name}"), file=f"h/{name}", digest="first use")
    assert web.left_over() == []


def test_a_disk_without_space_is_reported_before_anything_is_received(web: Web) -> None:
    web.troubles[FILE] = Trouble(length=str(10**17))
    with pytest.raises(InputError, match=r"100,000,000,000,000,000 bytes are needed, [\d,]+ are free"):
        web.download()
    assert web.left_over() == []


def test_arguments_are_checked_together(web: Web) -> None:
    with pytest.raises(
        InputError, match=r"(?s)url: found 'ftp://h/f'.*file: found '../f'.*sha256: found 'abc'.*mirror:"
    ):
        web.download("ftp://h/f", digest="abc", file="../f", mirror="/no/such/folder")


# Files and mirrors


def test_a_file_url_is_resumed(web: Web, tmp_path: Path) -> None:
    source = tmp_path / "a b.txt"
    source.write_bytes(CONTENT)
    assert web.download(source.as_uri()) == CONTENT
    with pytest.raises(InputError, match="No such file"):
        web.download((tmp_path / "none").as_uri())


@pytest.mark.parametrize("kind", ["folder", "server"])
def test_only_the_mirror_is_asked(web: Web, kind: str) -> None:
    web.put("host.org/a b.txt")
    mirror = str(web.folder) if kind == "folder" else f"{web.url}/"
    assert web.download(f"{web.url}/nowhere", file="host.org/a b.txt", mirror=mirror) == CONTENT
    assert [request.path for request in web.asked] == (["host.org/a b.txt"] if kind == "server" else [])


def test_a_mirror_without_the_file_names_it(web: Web) -> None:
    with pytest.raises(InputError, match=str(web.folder / "host.org" / "none.txt")):
        web.download(file="host.org/none.txt", mirror=str(web.folder))
    assert web.asked == []


# First use


def test_the_first_digest_is_recorded_and_then_expected(web: Web, tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock"
    lock.write_text(f"{'1' * 64}  a.org/x\n{'2' * 64}  z.org/x\n")
    assert web.download(digest="first use", lock=lock) == CONTENT
    assert lock.read_text() == f"{'1' * 64}  a.org/x\n{DIGEST}  {FILE}\n{'2' * 64}  z.org/x\n"
    assert web.download(digest="first use", lock=lock) == CONTENT
    web.put(FILE, CONTENT[::-1])
    with pytest.raises(
        InputError, match=rf"expected {DIGEST}. The file has changed since first use; delete its line"
    ):
        web.download(digest="first use", lock=lock)
    assert web.output.read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "sources.lock", "web"]


def test_the_lock_file_is_read_by_sha256sum(web: Web, tmp_path: Path) -> None:
    web.download(digest="first use", lock=tmp_path / "sources.lock")
    check = ["sha256sum", "--check", "--strict", str(tmp_path / "sources.lock")]
    assert subprocess.run(check, cwd=web.folder, capture_output=True).returncode == 0


def test_a_published_digest_is_not_recorded(web: Web, tmp_path: Path) -> None:
    web.download(lock=tmp_path / "sources.lock")
    assert not (tmp_path / "sources.lock").exists()


def test_parallel_downloads_lose_no_line_of_the_lock_file(web: Web, tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock"
    files = [f"host.org/{number:02d}.txt" for number in range(8)]
    for file in files:
        web.put(file, file.encode())
    processes = [
        subprocess.Popen(
            _command([f"{web.url}/{file}"], tmp_path / file, file, "first use", f"--lock={lock}"),
            stderr=subprocess.PIPE,
        )
        for file in files
    ]
    threads = [
        threading.Thread(target=first_use.record, args=(lock, f"z.org/{number:02d}", f"{number:064x}"))
        for number in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.communicate() and process.returncode for process in processes] == [0] * 8
    lines = lock.read_text().splitlines()
    assert lines[:8] == [f"{hashlib.sha256(file.encode()).hexdigest()}  {file}" for file in files]
    assert lines[8:] == [f"{number:064x}  z.org/{number:02d}" for number in range(40)]


def test_a_damaged_lock_file_is_not_overwritten(web: Web, tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock"
    lock.write_text(f"{'1' * 64}  a.org/x\nabc  b.org/x\n<<<<<<<\n")
    with pytest.raises(InputError, match=r"(?s)sources.lock.*line 2.*line 3"):
        web.download(digest="first use", lock=lock)


# Real processes


def _command(urls: list[str], output: Path, file: str, digest: str, *options: str) -> list[str]:
    command = [sys.executable, "-m", "pipeline", "download", "--url", *urls, "--file", file]
    return [*command, "--sha256", digest, "--output", str(output), *options]


class _process:
    """A download in a separate process."""

    def __init__(self, web: Web, *options: str):
        command = _command([f"{web.url}/{FILE}"], web.output, FILE, DIGEST, *options)
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> "subprocess.Popen[str]":
        return self.process

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()


def _wait_for(path: Path, size: int) -> None:
    until = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size >= size):
        assert time.monotonic() < until, f"{path} does not grow to {size} bytes"
        time.sleep(0.02)


def test_a_killed_download_is_resumed(web: Web) -> None:
    web.troubles[FILE] = Trouble(hold_after=700_000)
    with _process(web) as process:
        _wait_for(web.part, 600_000)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = web.part.stat().st_size
    assert not web.output.exists()
    web.troubles.clear()
    web.asked.clear()
    with _process(web, f"--size={len(CONTENT)}") as process:
        assert process.wait(60) == 0
    assert web.output.read_bytes() == CONTENT
    assert web.asked == [Request(FILE, f"bytes={kept}-", 206)]
    assert web.left_over() == []


def test_a_full_disk_keeps_what_was_received(web: Web) -> None:
    command = shlex.join(_command([f"{web.url}/{FILE}"], web.output, FILE, DIGEST))
    limited = f"ulimit -f 500; exec {command}"  # blocks of 1 KiB
    result = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert result.returncode == 1
    assert re.search(r"error: .*file.txt: File too large", result.stderr)
    kept = web.part.stat().st_size
    assert 0 < kept <= 512_000
    web.asked.clear()
    assert web.download() == CONTENT
    assert web.ranges() == [f"bytes={kept}-"]


def test_two_processes_never_write_one_part(web: Web) -> None:
    web.troubles[FILE] = Trouble(hold_after=700_000)
    with _process(web) as first:
        _wait_for(web.part, 600_000)
        with _process(web) as second:
            assert second.stderr
            message = second.stderr.read()
            assert second.wait(60) == 1
        assert re.search(r"error: .*\.file\.txt\.part: another process is writing it", message)
        web.troubles[FILE].go_on.set()
        assert first.wait(60) == 0
    assert web.output.read_bytes() == CONTENT
    assert len(web.asked) == 1


def test_progress_is_logged(web: Web) -> None:
    with _process(web) as process:
        assert process.stderr
        output = process.stderr.read()
    assert re.search(r"bytes 1,080,000/1,080,000 \(100%\), [\d,.]+/s, 0 s left", output)


def test_help_needs_no_requests() -> None:
    code = (
        "import sys\nfrom pipeline import cli\nfrom pipeline.stages import STAGES\n"
        "cli.parameters(STAGES['download'].function)\nsys.exit('requests' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# The table


def test_image_ids() -> None:
    names = ["1000268201_693b08cb0e.jpg", "1000268201.jpg", "2258277193_586949ec62.jpg.1", "42"]
    assert [image_id(name) for name in names] == ["1000268201", "1000268201", "2258277193", "42"]


def test_the_table_of_sources_is_sound() -> None:
    with open(ROOT / "workflow" / "sources.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    files = [row["file"] for row in rows]
    assert len(set(files)) == len(files)
    for row in rows:
        assert None not in row.values(), row
        assert row["access"] in ("public", "on request")
        assert re.fullmatch(r"[0-9a-f]{64}|first use", row["sha256"])
        assert re.fullmatch(r"\d*", row["bytes"])
        assert row["version"] and row["licence"]
        assert all(re.fullmatch(r"https?://\S+", url) for url in row["url"].split(" "))
        if row["access"] == "public":
            assert row["url"].split()[0].split("://")[1] == row["file"]
        else:
            assert row["file"].startswith("on-request/")


def test_the_table_of_sources_has_what_the_readers_open() -> None:
    with open(ROOT / "workflow" / "sources.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {text.path for text in flickr8kcn._TEXTS}
    assert texts == {row["file"] for row in rows if row["dataset"] == "flickr8kcn"}
    ours = [row for row in rows if row["dataset"].startswith("multi30k")]
    assert all(row["file"].startswith(multi30k.FOLDER) and len(row["sha256"]) == 64 for row in ours)
    kept = {row["file"] for row in rows if row["dataset"] == "fasttext"}
    assert {name.split(".")[-4] for name in kept} == {
        "en",
        "de",
        "fr",
        "cs",
        "zh",
        "ja",
        "ar",
        "af",
        "ko",
        "ru",
    }


def test_every_file_of_the_mirror_is_as_the_table_says(tmp_path: Path) -> None:
    mirror = os.environ.get("MULTILINGUAL_MIRROR")
    if not mirror:
        pytest.skip("MULTILINGUAL_MIRROR is not set")
    with open(ROOT / "workflow" / "sources.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (Path(mirror) / row["file"]).exists()]
    assert len(rows) > 60
    for row in rows:
        size = int(row["bytes"])
        download_file([], tmp_path / "file", row["file"], row["sha256"], size, mirror)


@pytest.mark.parametrize("name", ["a.gz", "a.tgz", "a.bz2", "a.xz"])
def test_an_error_of_the_disk_is_not_taken_for_a_truncated_file(name: str) -> None:
    """The file would be deleted and downloaded again."""
    with pytest.raises(OSError) as caught:
        truncation_message(name, Path("/proc/self/mem"))  # reading it fails as a broken disk does
    assert caught.value.errno == errno.EIO
