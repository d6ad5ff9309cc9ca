"""Errors that a user can fix: one message that says what, where, and what to do."""

import errno
import re
from collections.abc import Iterable

# Disk errors, and what to do. Readers pass them on instead of calling the file damaged.
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
    errno.EFBIG: "larger than its disk or a limit allows. Raise the limit (ulimit -f), or use another disk",
    errno.EMFILE: "too many open files. Raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine. End other programs",
    errno.ENOLCK: "its disk has no locks. Work in a folder on another disk",
    errno.ENXIO: "a device that is not there, or a pipe. Give a file",
    errno.ENODEV: "a device that cannot be read like a file. Give a file",
    errno.ETXTBSY: "a program that is running. Give another path, or end it",
    errno.EBUSY: "in use by the system. Give another path, or end what uses it",
    errno.ESTALE: "its network disk has lost it (stale file handle). Mount the disk again",
}

_AGAIN = "then run the same command again: what was finished is kept."
# Messages of PyTorch, NumPy and C++ when memory runs out, some in a RuntimeError or ValueError.
_NO_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "Cannot allocate memory",
    "Unable to allocate",
    "bad_alloc",
    "Storage size calculation overflowed",
    "larger than the maximum possible size",
    "Maximum allowed dimension exceeded",
    "failed to map segment from shared object",  # while a library is imported
)

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


def disk_message(error: BaseException) -> str:
    """The message for an error caused by the disk, not by the file or the code; empty for others."""
    if not isinstance(error, OSError) or error.errno not in _DISK:
        return ""
    elsewhere = ", or set XDG_CACHE_HOME to another folder" if "/.cache/" in str(error.filename) else ""
    return f"{error.filename or 'a file'}: {_DISK[error.errno]}{elsewhere}, {_AGAIN}"


def system_message(error: BaseException) -> str:
    """The message for any error of the system: its disk, its memory, its limits; empty for others."""
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
        return (
            f"not enough memory: {_first_line(error) or 'none is left'}. Make the sizes in the "
            "configuration smaller (model, batches, workers), end other programs, or raise the limit "
            f"(ulimit -v), {_AGAIN}"
        )
    if "can't start new thread" in str(error):
        return f"no more threads are allowed. Use fewer workers, or raise the limit (ulimit -u), {_AGAIN}"
    if isinstance(error, RecursionError):
        return "a file has too many brackets or blocks within others to be read. Make or fetch it again."
    if "integer string conversion" in str(error):
        return (
            "a number has more than 4,300 digits. Give a smaller one, in the command or the files it reads."
        )
    if not isinstance(error, OSError) or error.errno is None:
        return ""
    file = f"{error.filename}: " if error.filename else ""
    name = errno.errorcode.get(error.errno, error.errno)
    return disk_message(error) or f"{file}{error.strerror or error} ({name}). Mend this, {_AGAIN}"


def _first_line(error: BaseException) -> str:
    """The message of an error, without the places in libraries that PyTorch adds."""
    text = re.sub(r"^\[enforce fail at [^]]*\][ .]*", "", str(error)).partition("\n")[0]
    return text.strip().rstrip(".")
