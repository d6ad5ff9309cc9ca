"""Translation by web services through deep-translator: many captions per request, one per line.

deep-translator gives its requests no time limit and does not repeat them; a session takes the place of
`requests` in its modules. No message shows a URL, an answer's text or a key.
"""

import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlsplit

import deep_translator
import requests

from pipeline.common.errors import InputError
from pipeline.common.progress import duration
from pipeline.datasets.languages import language
from pipeline.translation.cache import CachedTranslator, Model
from pipeline.translation.settings import ServiceProvider

log = logging.getLogger("pipeline")


class Service(NamedTuple):
    """What is specific to one service.

    `key`: environment variable of its key, if it needs one; deep-translator reads it by itself, but only
    when it is imported. `characters`: the longest text of a request. `url_bytes`: the longest text,
    percent-encoded as part of the URL.
    """

    translator: str
    key: str
    characters: int
    url_bytes: int


# Google refuses URLs above 16 KiB (1,800 Chinese characters passed, 1,900 did not: deep-translator's
# issue 224). The others have the text in the URL, too; common servers accept 8,000.
SERVICES = {
    "google": Service("GoogleTranslator", "", 4_999, 16_000),
    "deepl": Service("DeeplTranslator", "DEEPL_API_KEY", 50_000, 8_000),
    "libre": Service("LibreTranslator", "LIBRE_API_KEY", 5_000, 8_000),
}

_TIMEOUT = 60.0  # seconds without a byte
# Seconds before retries, an hour together.
_PAUSES = tuple(min(2.0**number, 900.0) for number in range(1, 13))
_REFUSED = (400, 413, 414, 431)  # 400 is Google's answer to a URL that is too long
_BUSY = (408, 425, 429)  # and 5xx
_LOST = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
_NEWLINE = len(quote_plus("\n"))


class WebTranslator(CachedTranslator):
    """A translator (cache.py) over a web service; answers in other `codes` are another version's.

    Args:
        pauses: seconds before each retry of a request.

    Raises:
        InputError: a key is not in the environment.
    """

    def __init__(
        self,
        source: str,
        target: str,
        settings: ServiceProvider,
        cache: Path,
        requests_per_second: float = 1.0,
        pauses: Sequence[float] = _PAUSES,
    ):
        name, url, codes = settings.provider, settings.url or "", settings.codes or {}
        own_codes = sorted(f"{code}={own}" for code, own in codes.items() if code in (source, target))
        version = " ".join(filter(None, (settings.version, url, *own_codes)))
        super().__init__(Model(name, version, source, target), cache)
        self.service = SERVICES[name]
        if self.service.key and not os.environ.get(self.service.key):
            raise InputError(f"provider {name}: the environment variable {self.service.key} is not set.")
        # To the addresses of DeepL and LibreTranslate, deep-translator adds the name of a page.
        address = f"{url.rstrip('/')}/" if url and self.service.key else url
        session = _Session(1 / requests_per_second, pauses)
        known = [codes.get(code) or language(code).services.get(name, code) for code in (source, target)]
        self._translator = _deep_translator(self.service, known, address, session)

    def ask(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield the answers request by request; a caption that the service refuses has an empty one."""
        for batch in request_batches(texts, self.service):
            yield from self._ask_in_parts(batch)

    def _ask_in_parts(self, texts: list[str]) -> Iterator[dict[str, str]]:
        """Answers to some captions; if the lines of an answer are not as many, each half is asked again."""
        answer = self._request("\n".join(map(_line, texts)))
        lines = [_line(line) for line in answer.strip().split("\n")]
        if len(lines) == len(texts) and all(lines):
            yield dict(zip(texts, lines, strict=True))
        elif len(texts) == 1:
            yield {texts[0]: ""}
        else:
            middle = len(texts) // 2
            yield from self._ask_in_parts(texts[:middle])
            yield from self._ask_in_parts(texts[middle:])

    def _request(self, text: str) -> str:
        """The translation of a text, empty if deep-translator finds none in the answer."""
        try:
            answer: str = self._translator.translate(text) or ""
        except InputError:
            raise
        except Exception as error:  # those of deep-translator have no common base, and some name the key
            if "\n" not in text:
                reason = error if isinstance(error, _Refused) else type(error).__name__
                log.warning("%s: no translation (%s): %r", self.model.provider, reason, text)
            return ""
        return answer


class _Refused(Exception):
    """The service refuses a text, but perhaps no other."""


class _Session(requests.Session):
    """Requests that wait for their turn, end after some time, and are repeated where that may help.

    Redirects are not followed, since they could lead captions and keys to another host.
    """

    exceptions = requests.exceptions

    def __init__(self, interval: float, pauses: Sequence[float]):
        super().__init__()
        self.interval, self.pauses, self.next = interval, pauses, 0.0
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # it logs URLs, and some contain keys

    def request(self, method: Any, url: Any, *arguments: Any, **options: Any) -> requests.Response:
        """The response to a request; raises `InputError` if the service is not available or refuses."""
        options |= {"timeout": _TIMEOUT, "allow_redirects": False}
        host = urlsplit(str(url)).hostname
        if requests.utils.get_environ_proxies(str(url)):
            host = f"{host} through the proxy of this environment (http_proxy, https_proxy)"
        pauses = iter(self.pauses)
        while True:
            time.sleep(max(0.0, self.next - time.monotonic()))
            self.next = time.monotonic() + self.interval
            delay = 0.0
            try:
                response = super().request(method, url, *arguments, **options)
            except _LOST as error:
                reason = type(error).__name__
            else:
                if response.status_code < 300:
                    return response
                reason = f"status {response.status_code}"
                if response.status_code in _REFUSED:
                    raise _Refused(reason)
                if response.status_code not in _BUSY and response.status_code < 500:
                    raise InputError(f"{host} answered {reason}; check its address (`url`), key and quota.")
                header = response.headers.get("Retry-After", "")
                delay = float(header) if header.isdecimal() else 0.0
            pause = max(delay, next(pauses, math.inf))
            if pause > max(self.pauses, default=0.0):
                wait = f" and asks to wait for {duration(delay)}" if delay else ""
                raise InputError(f"{host} gives no translations ({reason}){wait}.")
            log.warning("%s: %s, again in %s", host, reason, duration(pause))
            time.sleep(pause)


def _deep_translator(service: Service, codes: Sequence[str], address: str, session: _Session) -> Any:
    """The translator of deep-translator between two of the service's codes."""
    library = getattr(deep_translator, service.translator)
    setattr(sys.modules[library.__module__], "requests", session)  # noqa: B010
    key = {"api_key": os.environ[service.key]} if service.key else {}
    translator = library(source="auto", target="auto", **key)
    translator._source, translator._target = codes  # its own lists of languages date from 2023
    if address:
        translator._base_url = address  # only LibreTranslator has an argument for it
    return translator


def request_batches(texts: Iterable[str], service: Service) -> Iterator[list[str]]:
    """Groups of texts that, joined by newlines, fit one request; each longer text is a group of its own."""
    batch: list[str] = []
    characters = size = 0
    for text in texts:
        line = _line(text)
        more, wider = len(line) + 1, len(quote_plus(line)) + _NEWLINE
        if batch and (characters + more > service.characters or size + wider > service.url_bytes):
            yield batch
            batch, characters, size = [], 0, 0
        batch.append(text)
        characters, size = characters + more, size + wider
    if batch:
        yield batch


def _line(text: str) -> str:
    """A text on one line, for any of Unicode's line ends."""
    return " ".join(text.split())
