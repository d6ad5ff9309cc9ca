"""All answers of translators, in one SQLite file shared by runs, scales and projects.

Answers are appended as they arrive, one transaction per request: a kill loses at most the current request.
Several jobs can use the file at once. The first answer to a caption stays; later answers are ignored.
"""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.common.errors import InputError
from pipeline.translation.translation_status import translation_status

COLUMNS = ("provider", "version", "source", "target", "digest", "text", "answer", "status", "date")
KEY = COLUMNS[:5]

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS translations (
    {", ".join(f"{column} TEXT NOT NULL" for column in COLUMNS)}, PRIMARY KEY ({", ".join(KEY)})
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    service TEXT NOT NULL, day TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (service, day)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pauses (service TEXT PRIMARY KEY, next REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS digests (digest TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_INSERT_DIGEST = "INSERT OR IGNORE INTO digests VALUES (?)"
_BUSY = 60.0  # seconds to wait for another job's transaction


class Model(NamedTuple):
    """The translator: the first parts of the key of an answer."""

    provider: str
    version: str
    source: str
    target: str


class Cache:
    """Answers by model and text, and the number of requests per service and day.

    All threads of a job share one connection, guarded by a lock.

    Args:
        path: the SQLite file; made if it is not there.

    Raises:
        InputError: the file cannot be opened, or is not such a cache.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path}: a folder, expected a cache of translations (translation.cache).")
        try:
            self._connection = sqlite3.connect(
                path, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            self._check_own()
            self._begin()
        except sqlite3.OperationalError as error:
            raise self._trouble(error) from None
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}: not a cache of translations: {error}. Give another file (translation.cache)."
            ) from None

    def _check_own(self) -> None:
        """Raise an `InputError`, before anything is written, if the file is another database."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        tables = [name for (name,) in self._connection.execute(query)]
        columns = tuple(row[1] for row in self._connection.execute("PRAGMA table_info(translations)"))
        if tables and columns != COLUMNS:
            raise InputError(
                f"{self.path}: not a cache of translations: found a database with the tables "
                f"{', '.join(tables)[:200]}. Give another file (translation.cache)."
            )

    def _begin(self) -> None:
        """Create what is missing; SQLite itself does not wait while another job switches the file to WAL."""
        until = time.monotonic() + _BUSY
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.executescript(_SCHEMA)
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # higher bits are details
                if not busy or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def answers(self, model: Model, texts: Iterable[str]) -> dict[str, str]:
        """The known answers to some captions."""
        where = " AND ".join(f"{column} = ?" for column in KEY)
        query = f"SELECT {', '.join(COLUMNS)} FROM translations WHERE {where}"
        answers = {}
        with self._lock, self._readable(), closing(self._connection.cursor()) as cursor:
            for text in texts:
                if row := cursor.execute(query, (*model, digest(text))).fetchone():
                    self._check(cursor, row)
                    answers[text] = row[COLUMNS.index("answer")]
        return answers

    def _check(self, cursor: sqlite3.Cursor, row: tuple[str, ...]) -> None:
        """Raise an `InputError` if a row has changed since it was stored: SQLite itself has no checksums."""
        if not cursor.execute("SELECT 1 FROM digests WHERE digest = ?", (_row_digest(row),)).fetchone():
            raise InputError(
                f"{self.path}: damaged: the stored answer to {row[COLUMNS.index('text')][:60]!r} has changed "
                "since it was written. Remove it (`python -m pipeline find-translations --remove`); "
                "it will be requested again."
            )

    def add(self, model: Model, answers: Mapping[str, str]) -> None:
        """Store the answers of one request; captions that already have an answer keep it."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self.insert(
            (*model, digest(text), text, answer, translation_status(text, answer, model.target), date)
            for text, answer in answers.items()
        )

    def insert(self, rows: Iterable[tuple[str, ...]], replace: bool = False) -> None:
        """Insert rows in the order of `COLUMNS`, all or none."""
        verb = "REPLACE" if replace else "INSERT OR IGNORE"
        command = f"{verb} INTO translations VALUES ({', '.join('?' * len(COLUMNS))})"
        values = list(rows)
        with self._lock, self._transaction():
            self._connection.executemany(command, values)
            self._connection.executemany(_INSERT_DIGEST, [(_row_digest(row),) for row in values])

    def rows(self) -> Iterable[tuple[str, ...]]:
        """All rows, ordered by their key."""
        with self._readable(), closing(self._connection.cursor()) as cursor:
            yield from cursor.execute(
                f"SELECT {', '.join(COLUMNS)} FROM translations ORDER BY {', '.join(KEY)}"
            )

    def find(self, part: str) -> list[tuple[str, ...]]:
        """Rows whose caption or answer holds some text, ordered by their key."""
        return [row for row in self.rows() if part in row[5] or part in row[6]]

    def remove(self, rows: Iterable[tuple[str, ...]]) -> None:
        """Remove rows, all or none; their captions will be translated again."""
        command = f"DELETE FROM translations WHERE {' AND '.join(f'{column} = ?' for column in KEY)}"
        with self._lock, self._transaction():
            self._connection.executemany(command, [row[: len(KEY)] for row in rows])

    def count(self) -> int:
        """How many answers there are."""
        return int(self._value("SELECT COUNT(*) FROM translations"))

    def reserve(self, service: str, a_second: float, a_day: int) -> float | None:
        """Reserve one request of a service.

        Args:
            a_second, a_day: requests that all jobs together may make.

        Returns:
            The time (seconds since the epoch) from which it may be sent; None: the day's requests are used
            up.
        """
        day = datetime.now(UTC).date().isoformat()
        with self._lock, self._transaction():
            count = self._value("SELECT count FROM requests WHERE service = ? AND day = ?", service, day)
            if count >= a_day:
                return None
            slot = max(time.time(), self._value("SELECT next FROM pauses WHERE service = ?", service))
            self._connection.execute("REPLACE INTO pauses VALUES (?, ?)", (service, slot + 1 / a_second))
            self._connection.execute("REPLACE INTO requests VALUES (?, ?, ?)", (service, day, count + 1))
        return slot

    def hold(self, service: str, seconds: float) -> None:
        """Block requests of all jobs to this service for some seconds."""
        with self._lock, self._transaction():
            until = max(
                time.time() + seconds, self._value("SELECT next FROM pauses WHERE service = ?", service)
            )
            self._connection.execute("REPLACE INTO pauses VALUES (?, ?)", (service, until))

    def _value(self, query: str, *parameters: str) -> float:
        with self._readable():
            row = self._connection.execute(query, parameters).fetchone()
        return row[0] if row else 0

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn an error in reading pages of the file into a message that the file is damaged."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise self._trouble(error) from None
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise self._damage_error(error) from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            # IMMEDIATE: what is read and then written must not change in between by another job.
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:  # a full disk has ended it already
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise self._trouble(error) from None
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError):
                raise self._damage_error(error) from None
            raise

    def _damage_error(self, error: Exception) -> InputError:
        return InputError(
            f"{self.path}: damaged, or not a cache of translations: {error}. Put a copy in its place, "
            "if there is one, or give another file (translation.cache)."
        )

    def _trouble(self, error: sqlite3.OperationalError) -> InputError:
        return InputError(
            f"{self.path}: {error}. Make room on its disk, make it writable, or end what has it locked, and "
            "run the same command again: its answers are kept. Or give another file (translation.cache)."
        )


def _row_digest(row: tuple[str, ...]) -> str:
    return digest("\0".join(map(str, row)))


def digest(text: str) -> str:
    """Hexadecimal SHA-256 digest of a caption."""
    return hashlib.sha256(text.encode()).hexdigest()
