"""A user's CSV file: its rows, or what is wrong with it as a file."""

import csv
import io
from pathlib import Path

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import read_utf8, reading, require_file

Rows = list[dict[str, str]]


def csv_rows(path: Path, what: str, mend: str, needed: tuple[str, ...], known: tuple[str, ...] = ()) -> Rows:
    """The rows of a CSV file in UTF-8 by column, without white space around fields.

    Args:
        needed: columns that it must have. known: others that it may have; empty: any.

    Raises:
        InputError: it is missing, not CSV in UTF-8, lacks a column, or has one twice or unknown; a row has
            more or fewer fields than the header; it has no rows.
    """
    with open(require_file(path, what, mend), "rb") as file:
        if file.read(2) == b"PK":
            raise InputError(f"{path}: an Excel workbook. Save it as CSV in UTF-8.")
    with reading(path, "a CSV file", "Save it as CSV in UTF-8, with commas."):
        reader = csv.DictReader(io.StringIO(read_utf8(path), newline=""), strict=True)
        columns = [column.strip() for column in reader.fieldnames or []]
        reader.fieldnames = columns
        lines = [(reader.line_num, row) for row in reader]
    found = f"found {', '.join(columns) or 'nothing'}"
    mistakes = [f"column {name!r} is missing; {found}" for name in needed if name not in columns]
    mistakes += [f"column {name!r} comes twice" for name in set(columns) if columns.count(name) > 1]
    if known:
        unknown = [name for name in columns if name not in (*needed, *known)]
        names = ", ".join((*needed, *known))
        mistakes += [f"column {name!r} is unknown; known are {names}" for name in unknown]
    odd = [str(number) for number, row in lines if None in row or None in row.values()]
    if odd:
        mistakes.append(f"{len(odd)} rows have not the fields of the header, first in line {odd[0]}")
    if not lines:
        mistakes.append("it has no rows")
    raise_together(mistakes, f"{path}: not {what}. {mend}")
    return [{column: value.strip() for column, value in row.items()} for _, row in lines]
