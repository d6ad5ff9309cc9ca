"""Requests to a service: within a time and a size, to its own host, and every refusal with its reason."""

import contextlib
import json
import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import requests

from pipeline.common.addresses import address, address_mistake
from pipeline.common.http_limits import LimitedSession, TooSlow, time_limit
from pipeline.common.retry_after import retry_after_seconds
from pipeline.common.secrets import hide
from pipeline.translation.cached_translator import EngineStopped

_MAX_ANSWER = 16 << 20  # bytes; a request has at most 50,000 characters
_PER_CHARACTER = 1 << 10  # bytes of an answer for each character of a request, pages included
_MIN_ALLOWED = 1 << 20
_WAIT = {408, 425, 429}  # and 5xx
_TOO_LONG = {400, 413, 414, 431}  # 400 is Google's answer to a URL that is too long
_REDIRECTS = 2  # redirects that are followed, on the service's own host
_REASON = 200  # characters of a service's own words in a message
# Keys of services' errors.
_ERROR_KEYS = ("error", "message", "error_msg", "detail", "responseDetails", "errors", "error_description")
_INVALID = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
)


class ServiceUnavailable(Exception):
    """The service is unavailable; `retry_after` is the delay that it requested, in seconds."""

    def __init__(self, reason: str, retry_after: float = 0.0):
        super().__init__(reason)
        self.retry_after = retry_after


class TextRefused(Exception):
    """The service rejects this text, because it is too long or for reasons of its own."""


class ServiceSession(LimitedSession):
    """Replaces `requests` in deep-translator's modules.

    Args:
        timeout: seconds without a byte. max_seconds: of a whole answer.
        in_json: whether the service answers JSON; otherwise a page.
        secrets: keys, by name, that are left out of a service's words before these are cut short.
    """

    exceptions = requests.exceptions

    def __init__(self, timeout: float, max_seconds: float, in_json: bool, secrets: Mapping[str, str]):
        super().__init__()
        self.timeout, self.max_seconds, self.in_json = timeout, max_seconds, in_json
        self.secrets = secrets
        self._threads = threading.local()

    @property
    def last_answer(self) -> str:
        """The text of this thread's last answer."""
        return str(getattr(self._threads, "answer", ""))

    def request(self, method: Any, url: Any, *arguments: Any, **options: Any) -> requests.Response:
        """The response to a request, read to its end.

        Raises:
            ServiceUnavailable: try again later. TextRefused: not this text. EngineStopped: the user must act.
        """
        self._threads.answer = ""
        length = len(f"{options.get('params')}{options.get('json')}")
        try:
            with time_limit(self.max_seconds):
                response = self._follow_redirects(method, url, {"timeout": self.timeout, **options})
                _read_body(response, min(_MAX_ANSWER, max(_MIN_ALLOWED, _PER_CHARACTER * length)))
        except TooSlow as error:
            raise ServiceUnavailable(str(error)) from None
        except _INVALID:
            raise EngineStopped(f"{_place(url)} is not an address (`url` of the provider).") from None
        except requests.RequestException as error:
            # Without the error's text: it contains the URL, which may contain a key.
            raise ServiceUnavailable(type(error).__name__) from None
        response.encoding = _encoding(response)
        self._check_status(response)
        _check_encoding(response)
        self._threads.answer = response.text
        if self.in_json:
            self._check_json(response)
        return response

    def _follow_redirects(self, method: str, url: str, options: dict[str, Any]) -> requests.Response:
        """The response, after redirects on the same host."""
        for _ in range(_REDIRECTS + 1):
            response = super().request(method, url, **{**options, "stream": True, "allow_redirects": False})
            target = self.get_redirect_target(response)
            if target is None:
                return response
            response.close()
            url, options = self._redirect_target(response.url, target), {**options, "params": None}
            if response.status_code not in (307, 308):
                method = "GET"
        raise EngineStopped(f"{_place(url)} redirects in a circle: check its address (`url`).")

    def _redirect_target(self, url: str, target: str) -> str:
        """The address of a redirect, which never leads to another host or from HTTPS to HTTP."""
        here, there = address(url), address(urljoin(url, target) if address(target) else target)
        if not (here and there and there.hostname) or address_mistake(
            there._replace(query="", fragment="").geturl()
        ):
            raise EngineStopped(f"{_place(url)} redirects to an invalid address: check `url`.")
        if here.hostname != there.hostname or (here.scheme, there.scheme) == ("https", "http"):
            raise EngineStopped(
                f"{here.hostname} redirects to {there.scheme}://{there.hostname}, where neither captions nor "
                "keys are sent. If that is the service's new address, set `url` of the provider to it."
            )
        return there.geturl()

    def _check_status(self, response: requests.Response) -> None:
        status = _status(response)
        reason = self._own_words(response)
        if status in _WAIT or status >= 500:
            delay = retry_after_seconds(response.headers.get("Retry-After", ""))
            raise ServiceUnavailable(f"status {status}{reason and f' ({reason})'}", delay)
        if status in _TOO_LONG:
            raise TextRefused(f"status {status}{reason and f' ({reason})'}")
        if status >= 300:
            title = _clean(response.reason or "", self.secrets)
            raise EngineStopped(
                f"{_place(response.url)} answered {status} {title}{reason and f' ({reason})'}: check its "
                "address (`url` of the provider), key and quota."
            )

    def _check_json(self, response: requests.Response) -> None:
        place = _place(response.url)
        if not response.content.strip():
            raise TextRefused(f"{place} answered nothing: check its address (`url` of the provider)")
        try:
            body = json.loads(response.text)
        except (ValueError, RecursionError):
            words = self._own_words(response)
            kind = "a web page" if response.text.lstrip().startswith("<") else "a text"
            raise EngineStopped(
                f"{place} answered {kind}{words and f' ({words})'} where JSON was expected: "
                "check its address (`url` of the provider)."
            ) from None
        if notice := _clean(_notice_in(body), self.secrets):
            raise EngineStopped(f"{place} answered an error instead of a translation: {notice}.")

    def _own_words(self, response: requests.Response) -> str:
        """The text of an answer that is not a translation, on one line."""
        text = response.text.strip()
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            title = re.search(r"<(title|h1)[^>]*>(.*?)</\1", text, re.IGNORECASE | re.DOTALL)
            plain = title[2] if title else re.sub(r"<[^<>]*>", " ", text[: 20 * _REASON])
            return _clean(plain, self.secrets)
        return _clean(_message_in(body), self.secrets)


def _message_in(body: Any, depth: int = 0) -> str:
    """The text under a key that services use for errors."""
    if isinstance(body, dict) and depth < 4:
        for key in _ERROR_KEYS:
            if message := _message_in(body.get(key), depth + 1):
                return message
        return ""
    if isinstance(body, list) and body and depth < 4:
        return _message_in(body[0], depth + 1)
    return body if isinstance(body, str) and depth else ""


def _notice_in(body: Any) -> str:
    """An error in an answer with status 200, which may also have a translation."""
    if not isinstance(body, dict):
        return ""
    if body.get("quotaFinished") is True:
        return "the quota is finished"
    return _message_in(body)


def _clean(text: str, secrets: Mapping[str, str]) -> str:
    """A server's text on a line without keys and control characters, cut short."""
    line = " ".join("".join(filter(str.isprintable, " ".join(text[: 20 * _REASON].split()))).split())
    return hide(line, secrets)[:_REASON]


def _place(url: str) -> str:
    """An address as a message may name it: without user, password and query."""
    parts = address(str(url))
    if not parts or not parts.hostname:
        return "the service's address"
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def _read_body(response: requests.Response, longest: int) -> None:
    """Read a response's body, as `requests` itself would, but with a bound.

    Raises:
        EngineStopped: it is longer than any answer, perhaps endless.
    """
    body = bytearray()
    for part in response.iter_content(1 << 16):
        body += part
        if len(body) > longest:
            response.close()
            raise EngineStopped(
                f"{_place(response.url)} answered with more than {longest:,} bytes: check its address "
                "(`url` of the provider)."
            )
    response._content = bytes(body)


def _encoding(response: requests.Response) -> str:
    """The character set of an answer: UTF-8 if it can be read as UTF-8, whatever the header says."""
    if response.content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for name in ("utf-8-sig", _declared_charset(response)):
        with contextlib.suppress(UnicodeError, LookupError):
            response.content.decode(name)
            return name
    return "utf-8"


def _check_encoding(response: requests.Response) -> None:
    """Raise `EngineStopped` for an answer that is not in the character set found for it."""
    try:
        response.content.decode(str(response.encoding))
    except UnicodeError:
        charset = _declared_charset(response)
        reason = f"its header says {charset[:40]}" if charset else "its header names no character set"
        raise EngineStopped(
            f"{_place(response.url)} answered in another character set than UTF-8, and {reason}: its letters "
            "cannot be read. Correct the server, or set another `url`."
        ) from None


def _declared_charset(response: requests.Response) -> str:
    header = response.headers.get("Content-Type", "")
    match = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", header, re.IGNORECASE)
    return match[1] if match else ""


def _status(response: requests.Response) -> int:
    """The status of a response; MyMemory always sends 200 and puts the status into the body."""
    try:
        status = int(json.loads(response.text)["responseStatus"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return response.status_code
    return max(status, response.status_code)
