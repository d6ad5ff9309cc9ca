"""System errors that end a stage with a message, and characters that a terminal cannot show."""

import errno
import io
import sys

import pytest

from pipeline import cli
from pipeline.common.errors import disk_message, raise_together, system_message
from pipeline.stages import STAGES

FULL = "not enough memory: "


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), f"{FULL}none is left. Make the sizes"),
        (MemoryError("Unable to allocate 9 GiB\nat a place"), f"{FULL}Unable to allocate 9 GiB. "),
        (RuntimeError("[enforce fail at a.cpp:1] . can't allocate memory."), f"{FULL}can't allocate"),
        (ImportError("libtorch.so: failed to map segment from shared object"), f"{FULL}libtorch.so"),
        (ValueError("Maximum allowed dimension exceeded"), f"{FULL}Maximum allowed"),
        (RuntimeError("can't start new thread"), "no more threads are allowed"),
        (OSError(errno.ENOSPC, "No space", "a.csv"), "a.csv: no space is left on its disk. Make room"),
        (OSError(errno.EBADMSG, "Bad message", "a.csv"), "a.csv: Bad message (EBADMSG). Mend this, then run"),
        (OSError(errno.EPROTO, "Protocol error"), "Protocol error (EPROTO). Mend this, then run"),
        (OSError(99999, "Unheard of"), "Unheard of (99999). Mend this"),
    ],
)  # fmt: skip
def test_an_error_of_the_system_has_a_message(error: BaseException, message: str) -> None:
    assert system_message(error).startswith(message)
    assert system_message(error).endswith("then run the same command again: what was finished is kept.")


@pytest.mark.parametrize(
    "error", [ValueError("a mistake"), ImportError("No module named x"), OSError("no number"), KeyError("a")]
)
def test_a_mistake_in_the_code_is_not_a_system_error(error: BaseException) -> None:
    assert (system_message(error), disk_message(error)) == ("", "")


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
    assert cli.main(STAGES, "pipeline", "") == 0
    assert written.getvalue() == b"gr\\xfcn \\u72d7\n"


@pytest.mark.parametrize("error", [ImportError("failed to map segment from shared object"), MemoryError()])
def test_exhausted_memory_ends_a_command_with_a_message(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    assert cli.exit_status(fail) == 1
    assert capsys.readouterr().err.startswith("error: not enough memory: ")
