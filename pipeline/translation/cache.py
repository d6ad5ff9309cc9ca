"""All answers of translators, in one SQLite file shared by runs, scales and projects.

Answers are stored as they arrive, one transaction per request: a kill loses at most the current request. The
first answer to a caption stays; later answers are ignored.
"""

import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.common.errors import InputError
from pipeline.common.files import reading
from pipeline.common.progress import Progress
from pipeline.translation.translation_status import OK, translation_status

log = logging.getLogger("pipeline")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS translations (
    provider TEXT, version TEXT, source TEXT, target TEXT, text TEXT, answer TEXT, date TEXT,
    PRIMARY KEY (provider, version, source, target, text)
) WITHOUT ROWID
"""
_BUSY = 60.0  # seconds to wait for another job's transaction
_MANY = 20  # captions in a row with one answer, or with none, after which a translator is at fault


class Model(NamedTuple):
    """The translator: the first parts of the key of an answer."""

    provider: str
    version: str
    source: str
    target: str


class Cache:
    """The answers in an SQLite file, which is made if it is not there.

    Raises:
        InputError: the file is not such a cache.
    """

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with reading(path, "a cache of translations", "Give another file (translation.cache)."):
            self._connection = sqlite3.connect(path, timeout=_BUSY)
            self._connection.execute(_SCHEMA)

    def answers(self, model: Model) -> dict[str, str]:
        """All answers of a model, by caption."""
        query = (
            "SELECT text, answer FROM translations WHERE (provider, version, source, target) = (?, ?, ?, ?)"
        )
        return dict(self._connection.execute(query, model))

    def add(self, model: Model, answers: Mapping[str, str]) -> None:
        """Store answers, all or none; captions that already have an answer keep it."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(*model, text, answer, date) for text, answer in answers.items()]
        with self._connection:
            self._connection.executemany(
                "INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )


class CachedTranslator(ABC):
    """A `Translator` (translate.py) that asks only for what its cache lacks, each caption once."""

    def __init__(self, model: Model, cache: Path):
        self.model, self.cache = model, Cache(cache)
        self.source, self.target, self.version = model.source, model.target, model.version

    @abstractmethod
    def ask(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield the answers to distinct captions, in any order and parts; empty ones are asked again."""

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations in the order of the sentences; a sentence without a translation has an empty one.

        Raises:
            InputError: the translator cannot go on, or gives many captions the same answer. Its answers
                before that are stored.
        """
        texts = [text for text in dict.fromkeys(sentences) if text.strip()]
        answers = self.cache.answers(self.model)
        missing = [text for text in texts if text not in answers]
        name = f"{self.model.provider} {self.source}-{self.target}"
        log.info("%s %s: %d captions, %d to request", name, self.version, len(texts), len(missing))
        progress = Progress(f"{name} captions", len(texts), len(texts) - len(missing))
        try:
            for sound in self._sound_answers(missing):
                self.cache.add(self.model, {text: answer for text, answer in sound.items() if answer})
                progress.advance(len(sound))
        except InputError as error:
            raise InputError(
                f"{name}: {error} {progress.done:,} of {len(texts):,} captions are done; their translations "
                f"are kept in {self.cache.path}. Run the same command again to resume."
            ) from None
        # Another job may have answered some meanwhile; what the cache holds is what every table gets.
        answers = self.cache.answers(self.model)
        return [answers.get(text, "") for text in sentences]

    def _sound_answers(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
        """Answers, held back until two captions have different translations.

        A service that answers everything with a notice, with the caption itself or with nothing is thus
        recognised before any such answer is stored.
        """
        held: dict[str, str] = {}
        for answers in self.ask(texts):
            held |= answers
            statuses = {
                answer: translation_status(text, answer, self.target) for text, answer in held.items()
            }
            if list(statuses.values()).count(OK) > 1:
                yield held
                held = {}
            elif len(held) >= _MANY:
                text, answer = next(iter(held.items()))
                raise InputError(
                    f"{len(held)} captions in a row have no translations of their own, such as {text[:80]!r} "
                    f"with the answer {answer[:80]!r}; none of these answers is kept. Check the service's "
                    "address (`url`), key, languages and quota."
                )
        yield held
