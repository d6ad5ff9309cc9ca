"""Files that are written completely or not at all, and whose corruption is detected.

A file is sealed when it is written: its SHA-256 stands in an extended attribute of it. Not its time, which
Snakemake changes when a job ends. A file that replaces it has no seal, or its own. On a disk without such
attributes the digest stands in a hidden file beside it, with the number of its inode, which others have not.
"""

import contextlib
import errno
import glob
import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common.errors import InputError, disk_trouble, raise_together

_SEAL = "user.sha256"
_writers = itertools.count()  # threads of one process may write the same file one after another
LEFT_BEHIND = 3600.0  # seconds without a change after which a temporary file is of a writer that was killed


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which is renamed to `path` if the block succeeds.

    A reader never sees half a file, and a kill at any moment leaves an earlier `path` as it was.
    An `OSError` names `path`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_writers)}.part")
    try:
        with naming(path, temporary):
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_left_behind(path)
            temporary.unlink(missing_ok=True)
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            seal(temporary, path)
            os.replace(temporary, path)
            temporary.unlink(missing_ok=True)  # it stays where both were links to one file already
    except BaseException:
        with naming(path, temporary):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make an `OSError` of the block name `path` if it names no file, or names `temporary`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        # torch.save says of a full disk only that a position is unexpected; the reason is its context.
        cause = error if isinstance(error, OSError) else error.__context__
        if not isinstance(cause, OSError) or (cause is not error and not disk_trouble(cause)):
            raise
        if cause.filename is None or str(cause.filename) == str(temporary):
            cause.filename = str(path)
        raise cause from None


def _remove_left_behind(path: Path) -> None:
    """Remove what writers of `path` left that were killed in the midst of it."""
    for name in glob.glob(f".{glob.escape(path.name)}.*.part", root_dir=path.parent):
        left = path.with_name(name)
        try:
            if time.time() - left.stat().st_mtime > LEFT_BEHIND:
                left.unlink()
        except OSError:  # another writer was faster, or it is another user's
            continue


def check_room(path: Path, needed: int) -> None:
    """Raise `InputError` where the disk of `path` has fewer than `needed` bytes free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise InputError(
            f"{path}: {needed:,} bytes are needed, {free:,} are free on its disk. Make room, or work in "
            "another folder, then run the same command again."
        )


def linked(path: Path, other: Path) -> None:
    """Hard-link `other` to `path`, or copy it where the disk has no links."""
    with written_beside(other) as temporary:
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)


def named_files(given: Iterable[str]) -> dict[str, Path]:
    """Files by name, from arguments of the form NAME=PATH."""
    pairs = [item.partition("=") for item in given]
    raise_together((f"found {''.join(pair)!r}" for pair in pairs if not all(pair)), "Expected NAME=FILE:")
    return {name: Path(path) for name, _, path in pairs}


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal(path: Path, named: Path | None = None) -> None:
    """Store a file's digest in an extended attribute, or else beside its later name `named`."""
    digest = sha256(path)
    try:
        os.setxattr(path, _SEAL, digest.encode())
    except (OSError, AttributeError):
        with contextlib.suppress(OSError):
            _beside(named or path).write_text(f"{digest} {path.stat().st_ino}\n", encoding="ascii")


def undamaged(path: Path) -> Path:
    """Return `path`, or raise an `InputError` if its bytes are not those that were written.

    A file without a seal is believed.
    """
    expected, mend = _seal_of(path)
    if not expected or (found := sha256(path)) == expected:
        return path
    raise InputError(
        f"{path}: changed since it was written, by its disk, a copy or by hand: found sha256 {found}, "
        f"expected {expected}. Delete it and run the same snakemake command again, which makes it again; or, "
        f"if the change was intended, remove the digest: {mend}"
    )


def _seal_of(path: Path) -> tuple[str, str]:
    """Digest of a file when it was written, empty where none is known, and how it is removed."""
    beside = _beside(path)
    with contextlib.suppress(OSError, AttributeError):
        digest = os.getxattr(path, _SEAL).decode("ascii", "replace")
        return digest, f"setfattr --remove {_SEAL} {path}"
    with contextlib.suppress(OSError, ValueError):
        digest, inode = beside.read_text(encoding="ascii").split()
        if len(digest) == 64 and inode == str(path.stat().st_ino):
            return digest, f"rm {beside}"
    return "", ""


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")


def existing(path: Path, what: str, mend: str) -> Path:
    """Return `path`, or raise an `InputError` that says `what` is missing and how to `mend` it.

    Raises:
        InputError: it is not there, or is damaged (`undamaged`).
        PermissionError: it is there, but may not be read. Many a reader would take that for a damaged file.
    """
    if not path.exists():
        raise InputError(f"{path}: {what} is not there. {mend}")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return undamaged(path) if path.is_file() else path
