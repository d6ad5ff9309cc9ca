"""Read and write caption tables and sentence tables (the schema is in `captions.py`)."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write, require_file
from pipeline.datasets.captions import COLUMNS, SENTENCE_COLUMNS, SPLITS, Caption
from pipeline.datasets.columns import repeated_columns

_CODE = re.compile(r"[a-z]{2}")


def caption_table(rows: Sequence[tuple[str, ...]]) -> pd.DataFrame:
    """A caption table from tuples with the fields of a `Caption`; they are numbered in their order."""
    table = pd.DataFrame(rows, columns=Caption._fields, dtype="str")
    return table.assign(number=table.groupby(["image", "language", "origin", "source_language"]).cumcount())


def read_captions(path: Path) -> pd.DataFrame:
    """Read and validate a caption table; raises `InputError` that lists every mistake."""
    return _read(path, COLUMNS)


def read_sentences(path: Path, may_be_empty: bool = False) -> pd.DataFrame:
    """Read and validate a sentence table (a caption table with tokens).

    Args:
        may_be_empty: whether it may have no rows.
    """
    return _read(path, SENTENCE_COLUMNS, may_be_empty)


def write_captions(table: pd.DataFrame, path: Path) -> None:
    """Validate a caption table and write it whole or not at all."""
    _write(table, path, COLUMNS)


def write_sentences(table: pd.DataFrame, path: Path) -> None:
    """Validate a sentence table and write it whole or not at all."""
    _write(table, path, SENTENCE_COLUMNS)


def _read(path: Path, columns: list[str], may_be_empty: bool = False) -> pd.DataFrame:
    require_file(path, "the caption table", "Run the stage that makes it, or give another file.")
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, encoding="utf-8")
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: the file is empty; expected columns {', '.join(columns)}.") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}.") from None
    if several := repeated_columns(header.iloc[0]):  # pandas gives the second another name
        raise InputError(f"{path}: {several}.")
    if not (may_be_empty and table.empty and list(table.columns) == columns):
        check_table(table, columns, str(path))
    return table[columns].astype({"number": "int64"})


def _write(table: pd.DataFrame, path: Path, columns: list[str]) -> None:
    check_table(table, columns, str(path))
    with atomic_write(path) as temporary:
        table[columns].to_csv(temporary, index=False, encoding="utf-8", lineterminator="\n")


def check_table(table: pd.DataFrame, columns: list[str], name: str) -> None:
    """Raise an `InputError` that lists all that is wrong with a caption table."""
    raise_together(_mistakes(table, columns), f"{name}: not a valid caption table:")


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
        "language is not a two-letter code": ~table["language"].str.fullmatch(_CODE),
        "source_language is neither empty nor a two-letter code": ~table["source_language"].str.fullmatch(
            rf"(?:{_CODE.pattern})?"
        ),
        "number is not 0 or a positive integer": ~table["number"].astype("str").str.fullmatch(r"[0-9]+"),
    }
    mistakes = [_row_mistake(what, rows) for what, rows in wrong.items() if rows.any()]
    splits = table.groupby("image", sort=False)["split"].nunique()
    several = splits.index[splits > 1]
    if len(several):
        mistakes.append(f"{len(several)} images are in more than one split, first {several[0]!r}")
    return mistakes


def _row_mistake(what: str, rows: pd.Series) -> str:
    first = int(rows.to_numpy().argmax()) + 2  # the header is line 1
    return f"{what} in {int(rows.sum())} rows, first in row {first}"
