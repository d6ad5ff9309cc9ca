"""Translation by web services: many captions per request, one per line, within the permitted rates."""

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any
from urllib.parse import quote_plus

from pipeline.common.progress import duration
from pipeline.translation.cache import Cache, Model
from pipeline.translation.cached_translator import EngineStopped, StoreAnswers
from pipeline.translation.limits import Limits
from pipeline.translation.services import SERVICES, Service, ServiceClient, ServiceUnavailable, TextRefused

log = logging.getLogger("pipeline")

_FIRST_PAUSE = 2.0  # seconds
_MAX_REFUSALS = 20  # captions refused one after the other: it is not the captions
_NEWLINE = len(quote_plus("\n"))
_NUMBERED = re.compile(r"\W?\d+\s*[.)．）、:]")


def web_engine(
    provider: str,
    source: str,
    target: str,
    settings: Mapping[str, Any],
    cache: Cache,
    limits: Mapping[str, Any],
) -> "WebEngine":
    """The engine of a service; arguments as of `machine.machine_translator`."""
    service_limits = Limits(**limits)
    url, version = settings.get("url", ""), str(settings.get("version", ""))
    model = Model(provider, f"{version} {url}".strip(), source, target)
    client = ServiceClient(provider, source, target, url, service_limits.timeout)
    return WebEngine(model, client, SERVICES[provider], url or provider, cache, service_limits)


class WebEngine:
    """An `Engine` (cached_translator.py) over a web service.

    Args:
        client: translates a text; raises `ServiceUnavailable`, `TextRefused` or `EngineStopped`.
        service: limits of a request. name: the name under which requests are counted.
        cache: where requests are counted.
    """

    def __init__(
        self,
        model: Model,
        client: Callable[[str], str],
        service: Service,
        name: str,
        cache: Cache,
        limits: Limits,
    ):
        self.model, self.client, self.service, self.name = model, client, service, name
        self.cache, self.limits = cache, limits
        self._stopped = threading.Event()
        self._last_answer = 0.0
        self._refused = 0

    def translate(self, texts: Sequence[str], store: StoreAnswers) -> None:
        """Pass the translations to `store`, request by request; a refused caption gets none.

        Raises:
            EngineStopped: the day's requests are used up, no answer came for too long, or the user must act.
        """
        self._stopped.clear()
        self._last_answer, self._refused = time.monotonic(), 0
        with ThreadPoolExecutor(self.limits.max_connections) as threads:
            batches = request_batches(texts, self.service)
            jobs = [threads.submit(self._translate, batch, store) for batch in batches]
            try:
                for job in as_completed(jobs):
                    job.result()
            finally:
                self._stopped.set()
                threads.shutdown(cancel_futures=True)

    def _translate(self, texts: list[str], store: StoreAnswers) -> None:
        lines = [_line(text) for text in texts]
        try:
            answers = split_answer(self._request("\n".join(lines)), lines)
        except TextRefused as refusal:
            if len(texts) == 1:
                self._note_refusal(texts[0], refusal)
                return
            answers = None
        if answers is not None:
            self._refused = 0
            store(dict(zip(texts, answers, strict=True)))
            return
        middle = len(texts) // 2
        for half in (texts[:middle], texts[middle:]):
            self._translate(half, store)

    def _request(self, text: str) -> str:
        """Repeat a request until it is answered; the pauses double and delay all jobs of this service."""
        max_pause = self.limits.max_pause
        pause = min(_FIRST_PAUSE, max_pause)
        while True:
            self._wait_for_turn()
            try:
                answer = self.client(text)
            except ServiceUnavailable as error:
                seconds = max(pause * random.uniform(0.5, 1), error.retry_after)
                log.warning("%s: %s, pausing for %s", self.name, error, duration(seconds))
                self.cache.hold(self.name, seconds)
                self._check_wait(seconds, str(error))
                pause = min(2 * pause, max_pause)
            else:
                self._last_answer = time.monotonic()
                return answer

    def _wait_for_turn(self) -> None:
        limits = self.limits
        if self._stopped.is_set():
            raise EngineStopped("")
        turn = self.cache.reserve(self.name, limits.requests_per_second, limits.requests_per_day)
        if turn is None:
            raise EngineStopped(
                f"The {limits.requests_per_day:,} requests of this day (UTC) are used up "
                "(translation.limits.requests_per_day)."
            )
        seconds = turn - time.time()
        self._check_wait(seconds, "a pause that an earlier answer asked for")
        if self._stopped.wait(max(0.0, seconds)):
            raise EngineStopped("")

    def _check_wait(self, seconds: float, reason: str) -> None:
        since = time.monotonic() - self._last_answer
        if since + seconds > self.limits.max_wait:
            raise EngineStopped(
                f"No answer for {duration(since)} ({reason}), and the next request may be sent in "
                f"{duration(seconds)}; translation.limits.max_wait is {duration(self.limits.max_wait)}."
            )

    def _note_refusal(self, text: str, refusal: TextRefused) -> None:
        log.warning("%s: left without a translation (%s): %r", self.name, refusal, text)
        self._refused += 1
        if self._refused >= _MAX_REFUSALS:
            raise EngineStopped(
                f"{_MAX_REFUSALS} captions in a row were refused ({refusal}). The service may require a "
                "person at a browser, or not support the languages: see what it answers in a browser."
            )


def request_batches(texts: Iterable[str], service: Service) -> Iterator[list[str]]:
    """Texts grouped so that each group, joined by newlines, fits one request; longer texts go alone."""
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


def split_answer(answer: str, lines: Sequence[str]) -> list[str] | None:
    """The translation of each line; None if the lines of an answer cannot be separated safely.

    They cannot if lines were merged, dropped, added, left blank or numbered. Lines that changed places are
    not detected.
    """
    if len(lines) == 1:
        return [_line(answer)]
    parts = [_line(part) for part in answer.strip().split("\n")]
    if len(parts) != len(lines) or not all(parts):
        return None
    if any(
        _NUMBERED.match(part) and not line[0].isdecimal() for part, line in zip(parts, lines, strict=True)
    ):
        return None
    return parts


def _line(text: str) -> str:
    """A text on one line, for any of Unicode's line ends."""
    return " ".join(text.split())
