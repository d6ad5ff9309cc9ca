"""The text of a user's CSV file, and messages for files that are not CSV."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.file_kinds import file_kind
from pipeline.common.files import require_file
from pipeline.common.text_files import decode_utf8

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}

# A long number that Excel has shortened, and what it shows in place of a formula that it cannot compute.
_SPOILT_FIELD = re.compile(r"[0-9]([.,][0-9]+)?E\+[0-9]+|#(N/A|NAME\?|REF!|VALUE!|DIV/0!|NUM!|NULL!)")
SPOILT = "spoilt by Excel; format the column as text, and save the file again"

Line = tuple[int, list[str]]  # the number of the line that a row begins in, and its fields


def csv_text(path: Path, what: str, mend: str, with_nul: bool = False) -> str:
    """The text of a CSV file in UTF-8, with or without a byte order mark.

    Args:
        with_nul: NUL bytes are let through, for a reader that reports them with other mistakes.

    Raises:
        InputError: the file is missing, of another kind, not UTF-8, or contains NUL bytes.
    """
    content = require_file(path, what, mend).read_bytes()
    if kind := file_kind(content):
        raise InputError(f"{path}: found {kind}, expected a CSV file. Save it as CSV in UTF-8.")
    if b"\0" in content[:2]:  # UTF-16 without a byte-order mark
        raise InputError(f"{path}: found text in UTF-16, expected a CSV file. Save it as CSV in UTF-8.")
    text = decode_utf8(content, path, "Save it as CSV in UTF-8.")
    if "\0" in text and not with_nul:
        line = text[: text.index("\0")].count("\n") + 1
        raise InputError(
            f"{path}: line {line}: a NUL byte; the file is UTF-16 or damaged. Save it as CSV in UTF-8."
        )
    return text


def csv_rows(path: Path, what: str, mend: str) -> Iterator[Line]:
    """Every row that is not empty, the header first.

    Raises:
        InputError: as `csv_text`, or a quotation mark is stray or not closed.
    """
    text = csv_text(path, what, mend)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begin = 1
    try:
        for row in reader:
            if row:
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise InputError(quotation_mistake(path, begin, error)) from None


def quotation_mistake(path: Path, line: int, error: csv.Error) -> str:
    """The message for a row with malformed quotation marks."""
    return (
        f"{path}: line {line}: not CSV ({error}): a quotation mark is stray or not closed. Double those "
        "inside a field, and put the field in quotation marks."
    )


def separator_mistake(columns: Sequence[str]) -> str:
    """The message for a header whose columns are not separated by commas; empty otherwise."""
    if columns and columns[0].startswith("sep="):
        return f"its first line is {columns[0]}, which only Excel reads; take the line out, save with commas"
    if len(columns) == 1:
        for separator, name in _SEPARATORS.items():
            if separator in columns[0]:
                return f"its columns are separated by {name}, expected commas; save it as CSV with commas"
    return ""


def is_spoilt(field: str) -> bool:
    """Whether a field is what Excel makes of a long number or of a text that it takes for a formula."""
    return bool(_SPOILT_FIELD.fullmatch(field.strip()))
