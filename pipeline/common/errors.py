"""Errors that a user can fix: one message that says what, where, and what to do."""

import errno
from collections.abc import Iterable

# What a disk says, and what can be done. Everything else that the system says may be a mistake of the code.
_DISK = {
    errno.ENOSPC: "no space is left on its disk. Make room",
    errno.EDQUOT: "your quota of its disk is used up. Make room, or ask for more",
    errno.EROFS: "its disk is mounted read-only. Make it writable, or work in another folder",
    errno.EACCES: "permission denied. Change its owner or mode, or its folder's",
    errno.EPERM: "not permitted. Change its owner, mode or attributes, or its folder's",
    errno.EAGAIN: "another process has it locked. Wait for it or end it",
    errno.EIO: "its disk fails to read or write (input/output error). Check the system log (dmesg)",
    errno.EEXIST: "something else is there already. Give another path, or move it",
    errno.EISDIR: "a folder, where a file is expected. Give another path, or move it",
    errno.ENOTDIR: "a file stands where a folder is expected. Give another path, or move it",
    errno.ELOOP: "its links lead in a circle. Give another path",
    errno.ENAMETOOLONG: "its name is longer than the disk allows. Give another path",
    errno.ESTALE: "its network disk has lost it (stale file handle). Mount the disk again",
}

MAX_LINES = 9  # lines after the heading of a message


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


def disk_trouble(error: BaseException) -> str:
    """The message for an error caused by the disk, not by the file or the code; empty for others."""
    if not isinstance(error, OSError) or error.errno not in _DISK:
        return ""
    file = error.filename or "a file"
    return f"{file}: {_DISK[error.errno]}, then run the same command again: what was finished is kept."
