"""The cache as one compressed file, so that results can be reproduced elsewhere without a service."""

import csv
import gzip
import io
import logging
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pipeline.common.bounds import text_lines
from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write, require_file
from pipeline.translation.cache import COLUMNS, KEY, Cache, Model, digest
from pipeline.translation.translation_status import STATUSES

log = logging.getLogger("pipeline")

Row = tuple[str, ...]

_MAX_LINE = 1 << 20  # characters of a line
_PATTERNS = {
    "provider": r"[a-z]+",
    "source": r"[a-z]{2}",
    "target": r"[a-z]{2}",
    "status": "|".join(STATUSES),
    "date": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00",
}


def find_translations(cache: Path, text: str, remove: bool = False) -> None:
    """Print cached translations, and optionally remove them.

    Args:
        cache: SQLite file of translations.
        text: text that the caption or its translation contains.
        remove: remove what is found, so that it is requested again.
    """
    require_file(cache, "the cache of translations", "Give another file (translation.cache).")
    answers = Cache(cache)
    rows = answers.find(text)
    for provider, version, source, target, _, caption, answer, *_ in rows:
        print(f"{' '.join([provider, version]).strip()} {source}-{target}: {caption!r} -> {answer!r}")
    if remove:
        answers.remove(rows)
    print(f"{len(rows)} answers {'removed' if remove else 'found'}")


def export_translations(cache: Path, output: Path) -> None:
    """Write all answers of a cache as gzipped CSV. Equal answers give equal bytes.

    Args:
        cache: SQLite file of translations.
        output: file to write, such as translations.csv.gz.

    Raises:
        InputError: there is no such cache, or it is empty.
    """
    hint = "Give the file that `translate --cache` wrote."
    require_file(cache, "the cache of translations", hint)
    answers = Cache(cache)
    if not (count := answers.count()):
        raise InputError(f"{cache}: the cache holds no translations.")
    with (
        atomic_write(output) as temporary,
        open(temporary, "wb") as file,
        # No name and no time in gzip's header: they would make equal answers different bytes.
        gzip.GzipFile("", "wb", 9, file, mtime=0) as archive,
        io.TextIOWrapper(archive, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(answers.rows())
    log.info("%s: %d translations", output, count)


def import_translations(
    input: Path, cache: Path, on_conflict: Literal["stop", "keep", "replace"] = "stop"
) -> None:
    """Import the answers of an exported file into a cache, all or none.

    Args:
        input: file that `export` wrote.
        cache: SQLite file of translations; created if missing.
        on_conflict: if the cache has another answer to the same caption by the same model: `stop`,
            `keep` the cache's, or `replace` it.

    Raises:
        InputError: lists every row that is not sound and, with `stop`, every conflict.
    """
    rows, mistakes = _read(input)
    answers = Cache(cache)
    conflicts = list(_conflicts(answers, rows))
    if on_conflict == "stop":
        mistakes += conflicts
    raise_together(
        mistakes,
        f"{input}: nothing was imported into {cache} (conflicts: --on-conflict keep or replace goes on):",
    )
    before = answers.count()
    answers.insert(rows, replace=on_conflict == "replace")
    log.info(
        "%s: %d translations, %d of them new, %d conflicts (%s)",
        input, len(rows), answers.count() - before, len(conflicts), on_conflict,
    )  # fmt: skip


def _read(file: Path) -> tuple[list[Row], list[str]]:
    require_file(file, "the file of translations", "Give a file that `translations export` wrote.")
    usual = csv.field_size_limit(_MAX_LINE)  # the limit of the whole process
    rows: list[Row] = []
    mistakes: list[str] = []
    keys: set[Row] = set()
    try:
        reader = csv.reader(text_lines(file, _MAX_LINE, is_gzip=True), strict=True)
        if (header := tuple(next(reader, ()))) != COLUMNS:
            raise InputError(f"{file}: found columns {_excerpt(header)}; expected {_excerpt(COLUMNS)}.")
        for row in map(tuple, reader):
            rows.append(row)
            mistakes += [f"line {reader.line_num}: {mistake}" for mistake in _mistakes(row, keys)]
            keys.add(row[: len(KEY)])
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: not a whole file of translations: {error}. Fetch it again.") from None
    finally:
        csv.field_size_limit(usual)
    return rows, mistakes


def _excerpt(columns: Row) -> str:
    return ", ".join(column[:40] for column in columns[: len(COLUMNS) + 1]) or "none"


def _mistakes(row: Row, keys: set[Row]) -> Iterator[str]:
    if len(row) != len(COLUMNS):
        yield f"found {len(row)} values; expected {len(COLUMNS)}"
        return
    values = dict(zip(COLUMNS, row, strict=True))
    for column, pattern in _PATTERNS.items():
        if not re.fullmatch(pattern, values[column]):
            yield f"{column}: found {values[column]!r}; expected {pattern}"
    if digest(values["text"]) != values["digest"]:
        yield f"digest: does not match its text {values['text'][:40]!r}"
    if row[: len(KEY)] in keys:
        yield f"a second answer to {values['text'][:40]!r}"


def _conflicts(cache: Cache, rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if len(row) != len(COLUMNS):
            continue
        provider, version, source, target, _, text, answer, *_ = row
        stored_answer = cache.answers(Model(provider, version, source, target), [text]).get(text, answer)
        if stored_answer != answer:
            yield (
                f"conflict: {provider} {version} {source}-{target} {text[:40]!r}: "
                f"the cache has {stored_answer[:40]!r}, the file {answer[:40]!r}"
            )
