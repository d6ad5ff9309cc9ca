"""Read and write caption tables and sentence tables (the schema is in `captions.py`)."""

import html
import logging
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import raise_together
from pipeline.common.files import atomic_write, reading, require_file
from pipeline.datasets.captions import COLUMNS, SENTENCE_COLUMNS, SPLITS, Caption
from pipeline.datasets.languages import unknown_code, without_tokenizer

log = logging.getLogger("pipeline")

_REFERENCE = re.compile(r"&#?\w+;")  # with a semicolon only: `R&D` and `fish &chips` are text
_TIMES = 3  # how often a text may have been escaped


def caption_table(rows: Sequence[tuple[str, ...]]) -> pd.DataFrame:
    """A caption table from tuples with the fields of a `Caption`; they are numbered in their order."""
    table = pd.DataFrame(rows, columns=Caption._fields, dtype="str")
    return table.assign(number=table.groupby(["image", "language", "origin", "source_language"]).cumcount())


def mended_captions(captions: pd.DataFrame) -> pd.DataFrame:
    """Captions with HTML's references read as their characters, and without captions that are blank."""
    texts = captions["caption"].map(mended_text)
    if count := int((texts != captions["caption"]).sum()):
        log.warning("%d of %d captions have HTML references, read as their characters", count, len(texts))
    blank = texts == ""
    if blank.any():
        log.warning("%d of %d captions are blank and are left out", blank.sum(), len(blank))
    return captions.assign(caption=texts)[~blank]


def mended_text(text: str) -> str:
    """A text with single blanks and without HTML's references, also where it was escaped more than once."""
    for _ in range(_TIMES):
        text = " ".join(_REFERENCE.sub(lambda match: html.unescape(match[0]), text).split())
    return text


def read_captions(path: Path) -> pd.DataFrame:
    """Read and validate a caption table; raises `InputError` that lists every mistake."""
    return _read(path, COLUMNS)


def read_sentences(path: Path) -> pd.DataFrame:
    """Read and validate a sentence table (a caption table with tokens)."""
    return _read(path, SENTENCE_COLUMNS)


def write_captions(table: pd.DataFrame, path: Path) -> None:
    """Validate a caption table and write it whole or not at all."""
    _write(table, path, COLUMNS)


def write_sentences(table: pd.DataFrame, path: Path) -> None:
    """Validate a sentence table and write it whole or not at all."""
    _write(table, path, SENTENCE_COLUMNS)


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    require_file(path, "the caption table", "Run the stage that makes it, or give another file.")
    with reading(path, f"a CSV file in UTF-8 with columns {', '.join(columns)}"):
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    check_table(table, columns, str(path))
    return table[columns].astype({"number": "int64"})


def _write(table: pd.DataFrame, path: Path, columns: list[str]) -> None:
    check_table(table, columns, str(path))
    with atomic_write(path) as temporary:
        table[columns].to_csv(temporary, index=False, encoding="utf-8", lineterminator="\n")


def check_table(table: pd.DataFrame, columns: list[str], name: str, others: Sequence[str] = ()) -> None:
    """Raise an `InputError` that lists all that is wrong with a caption table, and other mistakes."""
    raise_together([*others, *_mistakes(table, columns)], f"{name}: not a valid caption table:")


def _mistakes(table: pd.DataFrame, columns: list[str]) -> list[str]:
    missing = [column for column in columns if column not in table.columns]
    if missing:
        return [f"column {column!r} is missing; found {', '.join(table.columns)}" for column in missing]
    if table.empty:
        return ["it has a header but no captions; expected at least one row"]
    empty = {column: table[column].str.strip() == "" for column in ("image", "caption", "origin")}
    wrong = {
        **{f"{column} is empty": rows for column, rows in empty.items()},
        "split is not train, val or test": ~table["split"].isin(SPLITS),
        "source_language is the caption's own language": table["source_language"] == table["language"],
        "number is not 0 or a positive integer": ~table["number"].astype("str").str.fullmatch(r"[0-9]+"),
    }
    mistakes = [_row_mistake(what, rows) for what, rows in wrong.items() if rows.any()]
    for column, codes in (("language", table["language"]), ("source_language", table["source_language"])):
        for code in filter(None, codes.unique()):
            if wrong_code := unknown_code(code) or without_tokenizer(code):
                mistakes.append(_row_mistake(f"{column} {wrong_code}", codes == code))
    splits = table.groupby("image", sort=False)["split"].nunique()
    several = splits.index[splits > 1]
    if len(several):
        mistakes.append(f"{len(several)} images are in more than one split, first {several[0]!r}")
    return mistakes


def _row_mistake(what: str, rows: pd.Series) -> str:
    first = int(rows.to_numpy().argmax()) + 2  # the header is line 1
    return f"{what} in {int(rows.sum())} rows, first in row {first}"
