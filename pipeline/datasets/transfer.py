"""Download one file from one URL: resume partial downloads, retry after temporary failures."""

import http.client
import logging
import random
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import requests
import urllib3

from pipeline.common.addresses import address
from pipeline.common.errors import InputError
from pipeline.common.http_limits import LimitedSession, TimeLimit, TooSlow, time_limit
from pipeline.common.progress import Progress
from pipeline.common.retry_after import retry_after_seconds
from pipeline.common.secrets import hide, password_of
from pipeline.datasets.content import kind_mistake
from pipeline.datasets.partial_download import Origin, PartialDownload

log = logging.getLogger("pipeline")

_CHUNK = 1 << 16  # bytes, which are lost if the connection is reset
_REDIRECTS = 5
_LONGEST = 300  # characters of an error in a message
_LENGTH = re.compile(r"[0-9]{1,18}")  # digits of a file's length in bytes; a longer number cannot be a length
_RANGE = re.compile(r"bytes (?:([0-9]{1,18})-[0-9]+|\*)/([0-9]{1,18}|\*)")
_TEMPORARY = {408, 429, 500, 502, 503, 504}  # and every other 5xx


class Patience(NamedTuple):
    """Retry limits; all but `attempts` in seconds.

    Attributes:
        attempts: how many attempts in a row may make no progress.
        first, longest: wait after the first failure, which doubles with each, and its bound.
        retry_after: longest wait that a server may request.
        timeout: longest time without an answer or a byte.
        slowest: bytes per second that a transfer must reach on average, after twice `timeout`.
    """

    attempts: int = 8
    first: float = 1.0
    longest: float = 60.0
    retry_after: float = 600.0
    timeout: float = 60.0
    slowest: float = 1000.0


USUAL = Patience()


class PermanentError(Exception):
    """A permanent failure of this URL."""


class TemporaryError(Exception):
    """A temporary failure; the server may have given a delay, in seconds."""

    def __init__(self, message: str, after: float = 0.0):
        super().__init__(message)
        self.after = after


class Answer(NamedTuple):
    """A response: position of its first byte, size of the complete file, and its chunks."""

    start: int
    total: int | None
    validator: str
    content_type: str
    pieces: Iterator[bytes]


class _UnknownTotal(Progress):
    """Progress towards a total that the server has not reported."""

    def _line(self, now: float) -> str:
        rate = (self.done - self.initial) / max(now - self.started, 1e-9)
        return f"{self.what} {self.done:,}, {rate:,.1f}/s"


def fetch(url: str, part: PartialDownload, name: str, size: int | None, patience: Patience) -> None:
    """Download the rest of `part` from an HTTP, HTTPS or file URL.

    Args:
        name: the file's published name, which tells its kind.
        size: its size in bytes; None: the size that the server reports.

    Raises:
        PermanentError: this URL does not provide the file; the part is kept if it may be its beginning.
        InputError: the disk has too little space for it.
    """
    best_size, failures = part.size if part.origin.url == url else 0, 0
    while True:
        try:
            _attempt(url, part, name, size, patience)
            return
        except (TemporaryError, TooSlow) as trouble:
            # A server that starts over each time makes progress only when it gets further than before;
            # otherwise a server that sends a few bytes each time would be asked for ever.
            failures = 1 if part.size > best_size and isinstance(trouble, TemporaryError) else failures + 1
            best_size = max(best_size, part.size)
            if failures >= patience.attempts:
                raise PermanentError(f"{trouble}, the last of {failures} attempts without progress") from None
            wait = min(patience.longest, patience.first * 2 ** (failures - 1)) * random.uniform(0.5, 1)
            wait = max(wait, min(getattr(trouble, "after", 0.0), patience.retry_after))
            log.warning("%s: %s; again in %.1f s", url, trouble, wait)
            time.sleep(wait)


def _attempt(url: str, part: PartialDownload, name: str, size: int | None, patience: Patience) -> None:
    offset = part.size if part.origin.url == url and part.origin.validator else 0
    if offset and offset == part.origin.total:
        return  # an earlier process had already received everything
    transfer = (
        _file(url, offset, part) if urlsplit(url).scheme == "file" else _http(url, offset, part, patience)
    )
    with transfer as answer:
        total = size if answer.total is None else answer.total
        if size not in (None, total):
            if answer.start:
                part.clear()  # the partial file belongs to this version
            raise PermanentError(f"size: found {total} bytes; expected {size}")
        head = next(answer.pieces, b"")
        if not answer.start:
            if wrong := kind_mistake(name, head, answer.content_type):
                raise PermanentError(wrong)
            _check_room(part, total)
            part.begin(Origin(url, answer.validator, answer.total))
        else:
            _check_room(part, total)
        _append(part, chain([head], answer.pieces), total)


def _append(part: PartialDownload, pieces: Iterator[bytes], total: int | None) -> None:
    size = part.size
    progress = Progress("bytes", total, size) if total else _UnknownTotal("bytes", 1 << 63, size)
    for piece in pieces:
        part.append(piece)
        progress.advance(len(piece))
    size = part.size
    if total is not None and size > total:
        part.clear()
        raise PermanentError(f"received more than the expected {total} bytes")
    if total is not None and size < total:
        raise TemporaryError(f"the transfer broke off after {size} of {total} bytes")


def _check_room(part: PartialDownload, total: int | None) -> None:
    if total is None:
        return
    size, free = total - part.size, shutil.disk_usage(part.path.parent).free
    if size > free:
        raise InputError(
            f"{part.path.parent}: {size:,} bytes are needed, {free:,} are free. "
            "Make room, or give another place; what has been transferred is kept."
        )


@contextmanager
def _file(url: str, offset: int, part: PartialDownload) -> Iterator[Answer]:
    path = Path(url2pathname(urlsplit(url).path))
    try:
        status = path.stat()
        file = open(path, "rb")  # noqa: SIM115 - closed below; reading is outside this try
    except OSError as error:
        raise PermanentError(f"{path}: {error.strerror}") from None
    except InputError as error:
        raise PermanentError(str(error)) from None
    with file:
        validator = f"{status.st_mtime_ns} {status.st_size}"
        start = offset if validator == part.origin.validator else 0
        file.seek(start)
        yield Answer(start, status.st_size, validator, "", iter(lambda: file.read(_CHUNK), b""))


@contextmanager
def _http(url: str, offset: int, part: PartialDownload, patience: Patience) -> Iterator[Answer]:
    headers = {"User-Agent": "multilingual-retrieval", "Accept-Encoding": "identity"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": part.origin.validator}
    with LimitedSession() as session, time_limit(2 * patience.timeout) as limit:
        try:
            response = _follow_redirects(session, url, headers, patience.timeout)
        except (requests.ConnectionError, requests.Timeout) as error:
            raise TemporaryError(f"no answer: {_one_line(error, url)}") from None
        except requests.RequestException as error:
            raise PermanentError(f"no answer: {_one_line(error, url)}") from None
        with response:
            _check_status(response)
            rest = response.status_code in (206, 416)
            answer = _rest(response, offset, part) if rest else _whole(response)
            yield answer._replace(pieces=_extending(limit, answer.pieces, patience.slowest))


def _extending(limit: TimeLimit, pieces: Iterator[bytes], slowest: float) -> Iterator[bytes]:
    """The pieces; each allows the transfer more time."""
    for piece in pieces:
        limit.extend(len(piece) / slowest)
        yield piece


def _follow_redirects(
    session: LimitedSession, url: str, headers: Mapping[str, str], timeout: float
) -> requests.Response:
    """The response to a request, after redirects."""
    redirects: list[requests.Response] = []
    while len(redirects) <= _REDIRECTS:
        response = session.get(url, headers=headers, stream=True, timeout=timeout)
        if (target := session.get_redirect_target(response)) is None:
            response.history = redirects
            return response
        response.close()
        redirects.append(response)
        if address(target) is None:
            raise PermanentError(f"{response.url} redirects to an invalid address")
        url = urljoin(response.url, target)
    raise PermanentError(f"{redirects[0].url} redirects more than {_REDIRECTS} times")


def _one_line(error: object, url: str) -> str:
    """A library's description of a connection error, cut short, without control characters or passwords."""
    text = re.sub(r"//[^/@\s]*@", "//***@", " ".join(str(error).split()))
    text = hide(text, password_of(url))
    return "".join(filter(str.isprintable, text))[:_LONGEST]


def _check_status(response: requests.Response) -> None:
    status = response.status_code
    if status in (200, 206, 416):
        return
    # Not the server's own words, which may repeat a password of ~/.netrc.
    message = f"the server answered {status} {http.client.responses.get(status, '')}".rstrip()
    if status in _TEMPORARY or status >= 500:
        raise TemporaryError(message, retry_after_seconds(response.headers.get("Retry-After", "")))
    raise PermanentError(message)


def _whole(response: requests.Response) -> Answer:
    kind = response.headers.get("Content-Type", "").lower()
    if _is_encoded(response):
        # Content-Length and positions are those of the compressed stream, not of the file.
        return Answer(0, None, "", kind, _pieces(response, decode=True))
    length = response.headers.get("Content-Length", "")
    total = int(length) if _LENGTH.fullmatch(length) else None
    return Answer(0, total, _validator(response), kind, _pieces(response))


def _rest(response: requests.Response, offset: int, part: PartialDownload) -> Answer:
    """The answer to a request for the missing rest, if the server still has the version of the part."""
    match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    start, total = (match[1], match[2]) if match else (None, "*")
    first_total = part.origin.total
    same = (
        not _is_encoded(response)
        and _validator(response) in ("", part.origin.validator)
        and (first_total is None or total in ("*", str(first_total)))
    )
    if offset and same and response.status_code == 416 and total == str(offset):
        return Answer(offset, offset, part.origin.validator, "", iter(()))  # nothing was missing
    if offset and same and response.status_code == 206 and start == str(offset):
        whole = int(total) if total != "*" else first_total
        return Answer(offset, whole, part.origin.validator, "", _pieces(response))
    part.origin = Origin()
    raise TemporaryError(
        f"the server answered {response.status_code} with another part or version; the file is started over"
    )


def _is_encoded(response: requests.Response) -> bool:
    """Whether the server compresses although asked not to."""
    if response.headers.get("Content-Encoding", "identity").lower() == "identity":
        return False
    # Many servers declare `gzip` for a .gz file that they send unchanged.
    paths = [urlsplit(answer.url).path for answer in (*response.history, response)]
    return not any(path.endswith((".gz", ".tgz")) for path in paths)


def _validator(response: requests.Response) -> str:
    # If-Range needs a strong ETag: a weak one may be shared by files with different bytes.
    tag = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


def _pieces(response: requests.Response, decode: bool = False) -> Iterator[bytes]:
    try:
        yield from response.raw.stream(_CHUNK, decode_content=decode)
    except urllib3.exceptions.HTTPError as error:
        reason = _one_line(error.args[0] if error.args else error, response.url or "")
        raise TemporaryError(f"the transfer broke off: {reason}") from None
