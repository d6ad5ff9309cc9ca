"""System errors that end a stage with a message, and characters that a terminal cannot show."""

import errno
import io
import sqlite3
import sys

import pandas as pd
import pytest
import requests
import torch

from pipeline import cli
from pipeline.common.errors import InputError, error_message, raise_together


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("a.csv: no captions"), "a.csv: no captions"),
        (MemoryError("Unable to allocate 9 GiB"), "MemoryError: Unable to allocate 9 GiB. "),
        (OSError(errno.ENOSPC, "No space left on device", "a.csv"), "a.csv: No space left on device. "),
        (sqlite3.OperationalError("disk is full"), "OperationalError: disk is full. "),
        (requests.ConnectTimeout("a server"), "ConnectTimeout: a server. "),
        (pd.errors.ParserError("3 fields in line 2"), "ParserError: 3 fields in line 2. "),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), "UnicodeDecodeError: 'utf-8' codec"),
        (torch.OutOfMemoryError("9 GiB"), "OutOfMemoryError: 9 GiB. "),
    ],
)  # fmt: skip
def test_an_error_that_a_user_can_fix_has_a_message(error: Exception, message: str) -> None:
    assert error_message(error).startswith(message)
    assert ("the same command again: what was finished is kept" in error_message(error)) != isinstance(
        error, InputError
    )


@pytest.mark.parametrize("error", [ValueError("a mistake"), ImportError("No module x"), KeyError("a")])
def test_a_mistake_in_the_code_keeps_its_traceback(error: Exception) -> None:
    def fail() -> None:
        raise error

    assert error_message(error) == ""
    with pytest.raises(type(error)):
        cli.exit_status(fail)


def test_a_list_of_mistakes_is_cut_after_ten_lines() -> None:
    raise_together([], "Wrong:")
    for count, last in ((9, "8"), (10, "and 2 more"), (500, "and 492 more")):
        with pytest.raises(Exception) as caught:
            raise_together(map(str, range(count)), "Wrong:")
        lines = str(caught.value).split("\n  - ")
        assert (lines[0], lines[1], lines[-1], len(lines)) == ("Wrong:", "0", last, 10)


def test_characters_that_a_terminal_cannot_show_end_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    monkeypatch.setattr(sys, "argv", ["pipeline", "compare"])
    monkeypatch.setattr(cli, "run", lambda *arguments: print("grün 狗"))
    assert cli.main() == 0
    assert written.getvalue() == b"gr\\xfcn \\u72d7\n"


def test_a_message_ends_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise OSError(errno.EACCES, "Permission denied", "a.csv")

    assert cli.exit_status(fail) == 1
    assert capsys.readouterr().err.startswith("error: a.csv: Permission denied. Mend this")
