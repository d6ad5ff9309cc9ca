"""Files that are written completely or not at all, and whose corruption is detected.

When a file is written, its SHA-256 is stored in an extended attribute of the file. Its modification time is
not used, because Snakemake changes it when a job ends. A file that replaces it has its own digest or none.
On a disk without extended attributes the digest is stored in a hidden file next to it, together with the
number of the inode, which no other file has.
"""

import contextlib
import errno
import glob
import hashlib
import itertools
import os
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common.errors import InputError, disk_message, raise_together
from pipeline.common.inputs import check_inputs, note_input, regular_file

_ATTRIBUTE = "user.sha256"
_writers = itertools.count()  # distinguishes threads of one process that write the same file
STALE_AFTER = 3600.0  # a temporary file or folder unchanged for so many seconds belongs to a killed process


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which is renamed to `path` if the block succeeds.

    A reader never sees half a file, and a kill at any moment leaves an earlier `path` as it was.
    An `OSError` names `path`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_writers)}.part")
    try:
        with name_in_errors(path, temporary):
            regular_file(path)  # a device would be replaced by a file
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_stale(path)
            temporary.unlink(missing_ok=True)
            yield temporary
            check_inputs()
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            write_digest(temporary, path)
            os.replace(temporary, path)
            temporary.unlink(missing_ok=True)  # still there if both were links to the same file already
    except BaseException:
        with name_in_errors(path, temporary):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def name_in_errors(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make an `OSError` of the block name `path` if it names no file, or names `temporary`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        # On a full disk, torch.save only reports an unexpected position; the reason is its context.
        cause = error if isinstance(error, OSError) else error.__context__
        if not isinstance(cause, OSError) or (cause is not error and not disk_message(cause)):
            raise
        if cause.filename is None or str(cause.filename) == str(temporary):
            cause.filename = str(path)
        raise cause from None


def remove_stale(path: Path) -> None:
    """Remove temporary files and folders of writers of `path` that were killed."""
    for name in glob.glob(f".{glob.escape(path.name)}.[0-9]*.part", root_dir=path.parent):
        temporary = path.with_name(name)
        try:
            changed = max(each.stat().st_mtime for each in (temporary, *temporary.rglob("*")))
            if time.time() - changed <= STALE_AFTER:
                continue
            if temporary.is_dir():
                shutil.rmtree(temporary)
            else:
                temporary.unlink()
        except OSError:  # another writer was faster, or it is another user's
            continue


def check_disk_space(path: Path, size: int) -> None:
    """Raise `InputError` if the disk of `path` has fewer than `size` bytes free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise InputError(
            f"{path}: {size:,} bytes are needed, {free:,} are free on its disk. Make room, or work in "
            "another folder, then run the same command again."
        )


def reserve_space(path: Path, size: int | None = None) -> None:
    """Take the space of a file's first `size` bytes (default: of the whole file), or raise an `OSError`."""
    with open(path, "r+b") as file:
        total = os.fstat(file.fileno()).st_size if size is None else size
        if total and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, total)


def link_or_copy(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy if the disk has no hard links."""
    with atomic_write(target) as temporary:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)


@contextmanager
def reading(path: Path, what: str, hint: str = "Delete it and run the same command again.") -> Iterator[None]:
    """Make any error of a reader an `InputError` that names the file; errors of the disk keep their message.

    Args:
        what: what the file should be, as in "a vocabulary of this project". hint: what to do.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{path}: not {what}, or damaged ({reason}). {hint}") from error


def named_files(arguments: Iterable[str]) -> dict[str, Path]:
    """File of each name, from arguments of the form NAME=PATH."""
    files = named_file_lists(arguments)
    twice = (f"{name}: {', '.join(map(str, paths))}" for name, paths in files.items() if len(paths) > 1)
    raise_together(twice, "Several files of one name; give one:")
    return {name: paths[0] for name, paths in files.items()}


def named_file_lists(arguments: Iterable[str]) -> dict[str, list[Path]]:
    """Files of each name, from arguments of the form NAME=PATH in which a name may come several times."""
    pairs = [argument.partition("=") for argument in arguments]
    raise_together((f"found {''.join(pair)!r}" for pair in pairs if not all(pair)), "Expected NAME=FILE:")
    files: dict[str, list[Path]] = {}
    for name, _, path in pairs:
        files.setdefault(name, []).append(Path(path))
    return files


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 digest of a file's bytes."""
    with open(regular_file(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_digest(path: Path, final_path: Path | None = None) -> None:
    """Store a file's digest in an extended attribute, or else next to `final_path` (default: `path`)."""
    digest = sha256(path)
    try:
        os.setxattr(path, _ATTRIBUTE, digest.encode())
    except (OSError, AttributeError):
        with contextlib.suppress(OSError):
            _digest_file(final_path or path).write_text(f"{digest} {path.stat().st_ino}\n", encoding="ascii")


def verify_digest(path: Path) -> Path:
    """Return `path`, or raise an `InputError` if its bytes have changed since it was written.

    A file without a stored digest is not checked.
    """
    expected, hint = _stored_digest(path)
    if not expected or (digest := sha256(path)) == expected:
        return path
    raise InputError(
        f"{path}: changed since it was written, by its disk, a copy or by hand: found sha256 {digest}, "
        f"expected {expected}. Delete it and run the same snakemake command again, which makes it again; or, "
        f"if the change was intended, remove the digest: {hint}"
    )


def _stored_digest(path: Path) -> tuple[str, str]:
    """Digest of a file when it was written (empty if unknown), and the command that removes it."""
    digest_file = _digest_file(path)
    with contextlib.suppress(OSError, AttributeError):
        digest = os.getxattr(path, _ATTRIBUTE).decode("ascii", "replace")
        removal = f"import os; os.removexattr({str(path)!r}, {_ATTRIBUTE!r})"
        return digest, f"python -c {shlex.quote(removal)}"
    with contextlib.suppress(OSError, ValueError):
        digest, inode = regular_file(digest_file).read_text(encoding="ascii").split()
        if len(digest) == 64 and inode == str(path.stat().st_ino):
            return digest, f"rm {shlex.quote(str(digest_file))}"
    return "", ""


def _digest_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")


def require_file(path: Path, what: str, hint: str, constant: bool = True) -> Path:
    """Return `path`, or raise an `InputError` that says that `what` is missing, with a `hint` at what to do.

    Args:
        constant: whether the file must stay as it is until the stage has ended (`inputs.py`).

    Raises:
        InputError: it is missing, is not a regular file or folder, or is damaged (`verify_digest`).
        PermissionError: it exists, but may not be read. Many readers would report it as damaged.
    """
    if not path.exists():
        raise InputError(f"{path}: {what} is not there. {hint}")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not regular_file(path).is_file():
        return path
    # Files of this project have a digest, which changes with their content.
    if constant and not _stored_digest(path)[0]:
        note_input(path)
    return verify_digest(path)
