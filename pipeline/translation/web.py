"""Translation by web services: many captions per request, one per line, within the permitted rates."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from urllib.parse import quote_plus

from pipeline.common.progress import duration
from pipeline.translation.answers import fault, unescape_answer
from pipeline.translation.cache import Cache, Model
from pipeline.translation.cached_translator import EngineStopped, StoreAnswers
from pipeline.translation.notices import stopping_notice
from pipeline.translation.services import SERVICES, Service, ServiceClient
from pipeline.translation.session import ServiceUnavailable, TextRefused
from pipeline.translation.settings import Limits, ServiceProvider
from pipeline.translation.translation_status import letters

log = logging.getLogger("pipeline")

_FIRST_PAUSE = 2.0  # seconds
_MAX_REFUSALS = 20  # consecutive refused captions after which the service is at fault
_NEWLINE = len(quote_plus("\n"))
_MAX_ALIKE = 5  # consecutive captions with the same answer after which it is not a translation
_FEW = 3  # captions that may all have one answer if there are no others


def web_engine(
    source: str, target: str, settings: ServiceProvider, cache: Cache, limits: Limits
) -> "WebEngine":
    """The engine of a service for a pair of languages; answers in other `codes` are another version's."""
    name, url = settings.provider, settings.url or ""
    version = "" if settings.version is None else str(settings.version)
    codes = [f"{code}={own}" for code, own in (settings.codes or {}).items() if code in (source, target)]
    model = Model(name, " ".join(filter(None, (version, url, *sorted(codes)))), source, target)
    client = ServiceClient(name, source, target, url, limits, settings.codes)
    return WebEngine(model, client, SERVICES[name], url or name, cache, limits)


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
        self._stop = threading.Event()
        self._last_answer = 0.0
        self._pause_reason = "a pause that an earlier answer asked for"
        self._refusals = 0

    def translate(self, texts: Sequence[str], store: StoreAnswers) -> None:
        """Pass the translations to `store`, request by request; a refused caption gets none.

        Answers that are all the same wait until another one has come.

        Raises:
            EngineStopped: the day's requests are used up, no answer came for too long, or the user must act.
        """
        self._stop.clear()
        self._last_answer, self._refusals = time.monotonic(), 0
        waiting = _Waiting(store)
        with ThreadPoolExecutor(self.limits.max_connections) as threads:
            batches = request_batches(texts, self.service)
            jobs = [threads.submit(self._translate, batch, waiting.store) for batch in batches]
            try:
                for job in as_completed(jobs):
                    job.result()
            finally:
                self._stop.set()
                threads.shutdown(cancel_futures=True)
        waiting.finish()

    def _translate(self, texts: list[str], store: StoreAnswers) -> None:
        lines = [_line(text) for text in texts]
        try:
            answers = split_answer(self._request("\n".join(lines)), lines, self.model.target)
        except TextRefused as refusal:
            if len(texts) == 1:
                self._note_refusal(texts[0], refusal)
                return
            answers = None
        if answers is not None:
            self._refusals = 0
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
                self._pause_reason = str(error)
                self.cache.hold(self.name, seconds)
                self._check_wait(seconds)
                pause = min(2 * pause, max_pause)
            else:
                self._last_answer = time.monotonic()
                return answer

    def _wait_for_turn(self) -> None:
        limits = self.limits
        if self._stop.is_set():
            raise EngineStopped("")
        turn = self.cache.reserve(self.name, limits.requests_per_second, limits.requests_per_day)
        if turn is None:
            raise EngineStopped(
                f"The {limits.requests_per_day:,} requests of this day (UTC) are used up "
                "(translation.limits.requests_per_day)."
            )
        seconds = turn - time.time()
        self._check_wait(seconds)
        if self._stop.wait(max(0.0, seconds)):
            raise EngineStopped("")

    def _check_wait(self, seconds: float) -> None:
        since = time.monotonic() - self._last_answer
        if since + seconds > self.limits.max_wait:
            raise EngineStopped(
                f"No answer for {duration(since)} ({self._pause_reason}), and the next request may be sent "
                f"in {duration(seconds)}; translation.limits.max_wait is {duration(self.limits.max_wait)}."
            )

    def _note_refusal(self, text: str, refusal: TextRefused) -> None:
        pair = f"{self.name} {self.model.source}-{self.model.target}"
        log.warning("%s: left without a translation (%s): %r", pair, refusal, text)
        self._refusals += 1
        if self._refusals >= _MAX_REFUSALS:
            raise EngineStopped(
                f"{_MAX_REFUSALS} captions in a row were refused ({refusal}). The service may require a "
                "person at a browser, not support the languages, or have another address (`url`): see what "
                "it answers in a browser."
            )


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


def split_answer(answer: str, lines: Sequence[str], target: str) -> list[str] | None:
    """The translation of each line; None if the lines of an answer cannot be separated safely.

    They cannot if lines were merged, dropped, added, left blank or numbered, are all the same, or contain
    what no translation contains. Lines that changed places are not detected.

    Raises:
        TextRefused: the answer to a single line is not a translation.
        EngineStopped: it is a notice that the service translates nothing.
    """
    if stopping_notice(" ".join(lines), answer):
        raise EngineStopped(
            f"The service answered with a notice instead of a translation: {_line(answer)[:200]!r} (for "
            f"{lines[0][:60]!r}). Check its address (`url`), key and quota."
        )
    parts = [_line(part) for part in answer.strip().split("\n")]
    if len(lines) == 1:
        parts = [part for part in parts if part] or [""]
        if len(parts) > 1:
            raise TextRefused(f"{len(parts)} lines for one: {' / '.join(parts)[:80]!r}")
    if len(parts) != len(lines) or not (all(parts) or len(lines) == 1):
        return None
    translations = [unescape_answer(line, part) for line, part in zip(lines, parts, strict=True)]
    faults = [fault(*pair, target) for pair in zip(lines, translations, strict=True)]
    if len(lines) == 1 and faults[0]:
        raise TextRefused(f"its answer is not a translation: {faults[0]}")
    if any(faults) or (len(lines) > 1 and len(set(translations)) == 1 < len(set(map(letters, lines)))):
        return None
    return translations


class _Waiting:
    """Answers that wait, because a service that gives all captions the same answer translates none."""

    def __init__(self, store: StoreAnswers):
        self._store = store
        self._lock = threading.Lock()
        self._waiting: dict[str, str] = {}

    def store(self, answers: Mapping[str, str]) -> None:
        """Store answers, or let them wait while all since the last different answer are equal."""
        with self._lock:
            if len({*self._waiting.values(), *answers.values()}) > 1:
                self._pass_on()
            self._waiting |= answers
            if len(set(answers.values())) > 1:
                self._pass_on()
            self._check(_MAX_ALIKE)

    def finish(self) -> None:
        """Store the answers that still wait."""
        with self._lock:
            self._check(_FEW)
            self._pass_on()

    def _check(self, limit: int) -> None:
        if len(set(map(letters, self._waiting))) >= limit:
            answer = next(iter(self._waiting.values()))
            first = ", ".join(map(repr, list(self._waiting)[:2]))
            raise EngineStopped(
                f"The service gives {len(self._waiting)} captions ({first}, ...) one answer, "
                f"{answer[:80]!r}, which is not stored: check its address (`url`), languages and quota."
            )

    def _pass_on(self) -> None:
        if self._waiting:
            self._store(self._waiting)
        self._waiting = {}


def _line(text: str) -> str:
    """A text on one line, for any of Unicode's line ends."""
    return " ".join(text.split())
