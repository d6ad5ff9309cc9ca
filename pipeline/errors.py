"""Errors a user can mend: one message that says what, where, and what to do."""

from collections.abc import Iterable


class InputError(Exception):
    """Bad input. The command line prints the message and exits with status 1.

    The message names the file or key, what was found, what was expected, and what to do.
    """


def raise_together(mistakes: Iterable[str], heading: str) -> None:
    """Raise one `InputError` that lists every mistake; nothing where there is none."""
    lines = list(mistakes)
    if lines:
        raise InputError("\n  - ".join([heading, *lines]))
