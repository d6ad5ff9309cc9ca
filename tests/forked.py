"""Commands in forks of the test process, which has already imported what they import."""

import contextlib
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple, NoReturn


class Exit(NamedTuple):
    """The output and exit status of a command."""

    status: int
    output: str


def exit_of(run: Callable[[], object], folder: Path, arguments: Sequence[str]) -> Exit:
    """Run a command in a fork; returns the text of both streams and its exit status."""
    with tempfile.TemporaryFile() as output:
        if not (child := os.fork()):
            status = 70
            try:
                os.chdir(folder)
                os.environ["PWD"] = str(folder)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                sys.stdout = TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), write_through=True)
                sys.stderr = TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), write_through=True)
                sys.argv = list(arguments)
                logging.getLogger().handlers.clear()  # pytest's
                status = status_of(run)
            finally:
                leave(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return Exit(status, output.read().decode("utf-8", errors="replace"))


def leave(status: int) -> NoReturn:
    """End this fork."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(status)


def status_of(run: Callable[[], object]) -> int:
    """The exit status of sys.exit(main()), as in the script of an entry point."""
    try:
        found = run()
    except SystemExit as end:
        found = end.code
    except BaseException:
        traceback.print_exc()
        return 1
    if isinstance(found, str):
        print(found, file=sys.stderr)
        return 1
    assert found is None or isinstance(found, int)
    return found or 0
