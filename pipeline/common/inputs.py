"""A user's files that a stage reads: regular files that do not change until the stage has ended.

Snakemake considers an output that is newer than its input up to date. A file that is edited while a stage
reads it would leave old data in the output, and no later run would replace it.
"""

import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common.errors import InputError

_Identity = tuple[int, int, int]

_identities: dict[Path, _Identity] | None = None  # None: outside of a stage


@contextmanager
def watch_inputs() -> Iterator[None]:
    """Raise `InputError` at the end of the block if a file that it noted has changed since."""
    global _identities
    _identities = {}
    try:
        yield
        check_inputs()
    finally:
        _identities = None


def note_input(path: Path) -> None:
    """Record a file's state before it is read."""
    if _identities is not None and (identity := _identity(path)):
        _identities.setdefault(path.absolute(), identity)


def check_inputs() -> None:
    """Raise `InputError` if a file that was noted has changed since. Outputs only appear after this."""
    for path, identity in (_identities or {}).items():
        if _identity(path) != identity:
            raise InputError(
                f"{path}: changed while it was read, so the output would match neither version. Run the same "
                "command again once it stays as it is."
            )


def forget_inputs(folder: Path) -> None:
    """Forget the files of a folder that the stage itself wrote and read back."""
    identities = {} if _identities is None else _identities
    for path in [path for path in identities if path.is_relative_to(folder.absolute())]:
        del identities[path]


def regular_file(path: Path) -> Path:
    """The path; raises `InputError` for a pipe or a device, whose reader would wait or read for ever.

    Some files of /proc and /sys, such as /proc/kmsg, are like pipes.
    """
    try:
        status = path.stat()
    except OSError:  # a missing file is reported by its reader
        return path
    mode = status.st_mode
    if (
        not status.st_size
        and stat.S_ISREG(mode)
        and path.resolve().parts[:2] in (("/", "proc"), ("/", "sys"))
    ):
        raise InputError(f"{path}: a file of the system, expected a user's. Write its content to a file.")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise InputError(f"{path}: {kind}, expected a file. Write its content to a file, and give that.")
    return path


def check_paths(values: Iterable[object]) -> None:
    """Raise `InputError` if a path among some arguments, or in their lists, is a pipe or a device."""
    for value in values:
        if isinstance(value, Path):
            regular_file(value)
        elif isinstance(value, dict):
            check_paths(value.values())
        elif isinstance(value, list | tuple):
            check_paths(value)


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
