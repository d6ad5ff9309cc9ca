"""A translator that requests only what its cache lacks."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pipeline.common.errors import InputError
from pipeline.common.progress import Progress
from pipeline.translation.cache import Cache, Model

log = logging.getLogger("pipeline")

StoreAnswers = Callable[[Mapping[str, str]], None]


class EngineStopped(Exception):
    """An engine cannot go on now; the message says why."""


class Engine(Protocol):
    """Anything that translates captions, returning them in parts."""

    model: Model

    def translate(self, texts: Sequence[str], store: StoreAnswers) -> None:
        """Pass the translations of distinct captions to `store`, in any order and parts, from any thread.

        Raises:
            EngineStopped: stored answers stay; a later call requests the rest.
        """


class CachedTranslator:
    """A `Translator` (translate.py) over an engine and a cache. Equal captions are requested once."""

    def __init__(self, engine: Engine, cache: Cache):
        self.engine, self.cache = engine, cache
        self.source, self.target = engine.model.source, engine.model.target

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations in the order of the sentences; empty if there is none.

        Raises:
            InputError: the engine stopped. All answers received are stored.
        """
        texts = [text for text in dict.fromkeys(sentences) if text.strip()]
        answers = self.cache.answers(self.engine.model, texts)
        missing = [text for text in texts if text not in answers]
        log.info(
            "%s: %d captions, %d different, %d cached, %d to request",
            self._name, len(sentences), len(texts), len(answers), len(missing),
        )  # fmt: skip
        if missing:
            self._request(missing, len(texts))
        # Another job may have answered some meanwhile; what the cache holds is what every table gets.
        answers |= self.cache.answers(self.engine.model, missing)
        return [answers.get(text, "") for text in sentences]

    @property
    def _name(self) -> str:
        return f"{self.engine.model.provider} {self.source}-{self.target}"

    def _request(self, missing: Sequence[str], total: int) -> None:
        progress = Progress(f"{self._name} captions", total, total - len(missing))
        one_at_a_time = threading.Lock()

        def store(answers: Mapping[str, str]) -> None:
            self.cache.add(self.engine.model, answers)
            with one_at_a_time:
                progress.advance(len(answers))

        try:
            self.engine.translate(missing, store)
        except EngineStopped as stop:
            raise InputError(
                f"{self._name}: {stop} {progress.done:,} of {total:,} captions are translated and kept in "
                f"{self.cache.path}, {total - progress.done:,} remain. Run the same command again to resume."
            ) from None
