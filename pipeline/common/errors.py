"""Errors that a user can fix: one message that says what, where, and what to do."""

from collections.abc import Iterable

MAX_LINES = 9  # lines after the heading of a message

# Errors of the disk, the memory, the network and files of others, which are no mistake in the code. They are
# named here because importing their packages would take seconds.
_OUTSIDE = {
    "builtins.OSError", "builtins.MemoryError", "builtins.UnicodeDecodeError", "sqlite3.Error",
    "pandas.errors.ParserError", "torch.OutOfMemoryError",
}  # fmt: skip


class InputError(Exception):
    """Bad input. The command line prints the message and exits with status 1.

    The message names the file or key, what was found, what was expected, and what to do.
    """


def raise_together(mistakes: Iterable[str], heading: str) -> None:
    """Raise one `InputError` that lists the mistakes, at most `MAX_LINES`; do nothing if there are none."""
    lines = list(mistakes)
    if len(lines) > MAX_LINES:
        lines[MAX_LINES - 1 :] = [f"and {len(lines) - MAX_LINES + 1} more"]
    if lines:
        raise InputError("\n  - ".join([heading, *lines]))


def error_message(error: BaseException) -> str:
    """What to print for an error that a user can fix; empty for a mistake in the code."""
    if isinstance(error, InputError):
        return str(error)
    if not _OUTSIDE & {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}:
        return ""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        reason = ": ".join(str(part) for part in (error.filename, error.strerror) if part is not None)
    return f"{reason}. Mend this, then run the same command again: what was finished is kept."
