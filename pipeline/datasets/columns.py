"""Columns of tables in CSV. Apart from `csv_text`, whose edits need rerun no training."""

from collections.abc import Iterable


def repeated_columns(columns: Iterable[str]) -> str:
    """The message for columns of the same name, whatever its capital letters and blanks; empty otherwise."""
    spellings: dict[str, list[str]] = {}
    for column in columns:
        spellings.setdefault("".join(column.lower().split()), []).append(column)
    several = [", ".join(map(repr, names)) for name, names in spellings.items() if name and len(names) > 1]
    return f"columns of the same name: {', '.join(several)}; keep one of them" if several else ""
