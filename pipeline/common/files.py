"""Files and folders that are written completely or not at all, and readers whose errors name the file."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common.errors import InputError


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which takes the place of `path` if the block succeeds.

    A reader never sees half a file, and a kill at any moment leaves an earlier `path` as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)  # of a killed writer; it may be a link to another file
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `path`, which takes its name if the block succeeds.

    Raises:
        InputError: there is something at `path`. Snakemake deletes the outputs of a job before it starts.
    """
    if path.is_file() or (path.exists() and any(path.iterdir())):
        raise InputError(f"{path}: already exists. Delete it, or give a folder that is empty or new.")
    temporary = path.with_name(f".{path.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed writer
    temporary.mkdir(parents=True)
    try:
        yield temporary
        for file in filter(Path.is_file, temporary.rglob("*")):
            with open(file, "rb") as content:
                os.fsync(content.fileno())
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_disk_space(path: Path, size: int) -> None:
    """Raise `InputError` if the disk of `path` has fewer than `size` bytes free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise InputError(
            f"{path}: {size:,} bytes are needed, {free:,} are free on its disk. Make room, or work in "
            "another folder, then run the same command again."
        )


def link_or_copy(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy if the disk has no hard links."""
    if target.exists() and target.samefile(source):
        return
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
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"{path}: not {what}, or damaged ({reason}). {hint}") from error


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_utf8(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark.

    Raises:
        InputError: it is in another encoding, as CSV files that Excel saves often are.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text in UTF-8 ({error}). Save it as UTF-8.") from None


def require_file(path: Path, what: str, hint: str) -> Path:
    """Return `path`, or raise an `InputError` that `what` is missing, with a `hint` at what to do."""
    if not path.exists():
        raise InputError(f"{path}: {what} is not there. {hint}")
    return path
