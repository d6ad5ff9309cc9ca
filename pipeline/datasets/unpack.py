"""Unpack archives of photographs into one flat folder, under their published file names."""

import bz2
import errno
import gzip
import json
import logging
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from calendar import timegm
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

from pipeline.common.bounds import RATIO, max_unpacked
from pipeline.common.errors import InputError, raise_together
from pipeline.common.file_kinds import file_kind
from pipeline.common.files import replace_folder, require_file
from pipeline.common.locks import open_locked
from pipeline.common.photographs import ARCHIVES, ENDINGS, is_photograph
from pipeline.common.progress import Progress

log = logging.getLogger("pipeline")

_CHUNK = 1 << 20  # bytes
_LATEST = 2**31 - 1  # seconds; every file system can store such a time
_UNPACKING = ".unpacking"  # the file that is being written; no photograph's name begins with a dot

_ERRORS_OF_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    RuntimeError,  # zipfile's message for an encrypted member
    NotImplementedError,
    UnicodeDecodeError,
)


class Member(NamedTuple):
    """A photograph in an archive.

    Attributes:
        path: its name there, with folders.
        size: bytes that it is declared to have.
        time: when it was changed last, in seconds since 1970 (of a zip file, as if in UTC).
        problem: why it cannot be unpacked; empty if it can.
    """

    path: str
    size: int
    time: int
    problem: str
    open: Callable[[], IO[bytes]]


def unpack(archive: Sequence[Path], output: Path) -> int:
    """Unpack the photographs of ZIP and tar archives as `output/{published file name}`; return how many.

    Folders of the archives are ignored, so no member can leave `output`. The folder appears whole or not
    at all. A killed call is resumed, unless an archive has changed since.

    Args:
        archive: .zip, .tar, .tar.gz, .tar.bz2, .tar.xz.
        output: folder to create.

    Raises:
        InputError: an archive is damaged, unpacks to more than photographs would or than the disk holds,
            has no photographs, links instead of photographs, or two of one name; `output` exists and is not a
            folder of photographs.
    """
    for path in archive:
        require_file(path, "the archive of photographs", "Download it, or give another path.")
    _check_replaceable(output)
    with _partial_folder(archive, output) as folder:
        _check_room(archive, folder)
        names: dict[str, str] = {}
        mistakes: list[str] = []
        for path in archive:
            _unpack_one(path, folder, names, mistakes)
        raise_together(mistakes, "Photographs that cannot be unpacked:")
        if not names:
            paths = ", ".join(map(str, archive))
            raise InputError(f"{paths}: no {', '.join(ENDINGS)} file. Is it the archive of the photographs?")
        (folder / _UNPACKING).unlink(missing_ok=True)
        replace_folder(folder, output)
    log.info("%s: %s photographs", output, f"{len(names):,}")
    return len(names)


def _check_replaceable(output: Path) -> None:
    """Refuse to replace a file, or a folder that holds more than photographs: it would be lost."""
    if not output.exists():
        return
    entries = output.iterdir() if output.is_dir() else ()
    visible = [entry.name for entry in entries if not entry.name.startswith(".")]
    others = [name for name in visible if not is_photograph(name)]
    if others or not output.is_dir():
        content = f"a folder with {', '.join(sorted(others)[:3])}" if others else "a file"
        raise InputError(
            f"{output}: found {content}, which unpacking would replace; expected a new folder, or a "
            f"folder with only photographs. Give another path, or move it."
        )


@contextmanager
def _partial_folder(archives: Sequence[Path], output: Path) -> Iterator[Path]:
    """Folder next to `output` with what an earlier call unpacked from the same archives."""
    folder = output.with_name(f".{output.name}.part")
    note = output.with_name(f".{output.name}.part.json")
    with open_locked(note) as file:
        state = [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in archives]
        text = json.dumps(state).encode()
        if file.read() != text:
            shutil.rmtree(folder, ignore_errors=True)
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
        folder.mkdir(exist_ok=True)
        try:
            yield folder
        except InputError:
            shutil.rmtree(folder)
            note.unlink()
            raise
        except OSError as error:
            kept = "What has been unpacked is kept for the next call."
            if not any(folder.iterdir()):
                folder.rmdir()
                note.unlink()
                kept = "Nothing has been unpacked."
            raise InputError(
                f"{error.filename or folder}: cannot be written or read: {error.strerror}. {kept}"
            ) from None
        note.unlink()


def _check_room(archives: Sequence[Path], folder: Path) -> None:
    """Check the free space before anything is written; a tar archive's size is known only later."""
    total = 0
    for archive in archives:
        if _is_zip(archive):
            with _blame_archive(archive), zipfile.ZipFile(archive) as file:
                size = sum(member.file_size for member in file.infolist())
            _check_ratio(archive, size)
            total += size
    present = sum(entry.stat().st_size for entry in os.scandir(folder))
    _check_free(folder, total - present)


def _check_ratio(archive: Path, size: int) -> None:
    if size > max_unpacked(archive.stat().st_size):
        raise InputError(
            f"{archive}: its {archive.stat().st_size:,} bytes unpack to {size:,} or more; photographs "
            f"never unpack to over {RATIO} times their size. Download it again from its publisher."
        )


def _check_free(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        reason = f"the photographs need {size:,} more bytes, {free:,} are free; make room"
        raise OSError(errno.ENOSPC, reason, str(folder.parent))


def _unpack_one(archive: Path, folder: Path, names: dict[str, str], mistakes: list[str]) -> None:
    progress: Progress | None = None
    with _blame_archive(archive) as _:
        for total, position, member in _zip_members(archive) if _is_zip(archive) else _tar_members(archive):
            progress = progress or Progress(f"{archive.name}: bytes", total)
            name = PurePosixPath(member.path).name
            if wrong := member.problem or _wrong_name(name, names):
                mistakes.append(f"{archive}, {member.path}: {wrong}")
            else:
                names[name] = member.path
                _write_photograph(member, folder / name)
            progress.advance(position - progress.done)


def _wrong_name(name: str, names: dict[str, str]) -> str:
    if len(os.fsencode(name)) > 255:
        return "its name is longer than 255 bytes"
    return f"the same name as {names[name]}" if name in names else ""


def _write_photograph(member: Member, path: Path) -> None:
    """Write one photograph, unless an earlier call did."""
    if path.exists() and path.stat().st_size == member.size and _is_same(member, path):
        return
    _check_free(path.parent, member.size)
    temporary = path.with_name(_UNPACKING)
    digest = 0
    with member.open() as source, open(temporary, "wb") as target:
        while piece := source.read(_CHUNK):
            target.write(piece)
            digest = zlib.crc32(piece, digest)
        size = target.tell()
    if size != member.size:
        raise EOFError(f"{member.path} has {size} bytes, not {member.size}")
    # Extraction knows a file by its size and time. A photograph that is unpacked again must be the same, and
    # a different one with the same size and time in the archive must not: the nanoseconds are derived from
    # its content.
    time = member.time * 10**9 + digest % 10**9
    os.utime(temporary, ns=(time, time))
    os.replace(temporary, path)


def _is_same(member: Member, path: Path) -> bool:
    """Whether a file has the bytes of the archive: a power cut can leave zeros in their place."""
    with member.open() as source, open(path, "rb") as target:
        while piece := source.read(_CHUNK):
            if piece != target.read(len(piece)):
                log.warning("%s: not as in the archive, unpacked again", path)
                return False
    return True


@contextmanager
def _blame_archive(archive: Path) -> Iterator[None]:
    """Turn errors in reading an archive into an `InputError` that blames the archive."""
    try:
        yield
    except _ERRORS_OF_DAMAGE as error:
        raise InputError(f"{archive}: not a sound archive: {error}. Download it again.") from None
    except OSError as error:
        if error.errno is None:  # bz2 raises this for damaged data
            raise InputError(f"{archive}: not a sound archive: {error}. Download it again.") from None
        raise


def _is_zip(archive: Path) -> bool:
    with open(archive, "rb") as file:
        return file.read(2) == b"PK"


def _is_own_photograph(path: str) -> bool:
    # macOS adds a `__MACOSX/.../._NAME.jpg` of its own for each file.
    parts = PurePosixPath(path)
    return is_photograph(path) and not parts.name.startswith(".") and "__MACOSX" not in parts.parts


def _zip_members(archive: Path) -> Iterator[tuple[int, int, Member]]:
    """Yield the photographs, each with the total bytes and the bytes up to it."""
    with zipfile.ZipFile(archive) as file:
        members = [
            member
            for member in file.infolist()
            if not member.is_dir() and _is_own_photograph(member.filename.replace("\\", "/"))
        ]
        total, size = sum(member.file_size for member in members), 0
        for member in members:
            size += member.file_size
            # The upper half holds the Unix mode, whose type is 8 (a file) or 0 (unknown).
            problem = "" if member.external_attr >> 28 in (0, 8) else "a link or a device; expected a file"
            path = member.filename.replace("\\", "/")
            open_content = partial(file.open, member)
            yield total, size, Member(path, member.file_size, _zip_time(member), problem, open_content)


def _zip_time(member: zipfile.ZipInfo) -> int:
    try:
        return min(timegm((*member.date_time, 0, 0, 0)), _LATEST)
    except ValueError:  # a month 0, as some programs write
        return 0


class _Forward:
    """A decompressed tar, read once from its beginning to its end.

    The module `tarfile` takes a truncation between two members, or a damaged header after the first, for
    the end of the archive; `is_complete` detects this.
    """

    def __init__(self, file: IO[bytes], archive: Path):
        self.file, self.archive = file, archive
        self.position = 0
        self.beginning = self.last = b""

    def tell(self) -> int:
        return self.position

    def seek(self, position: int) -> None:
        while self.position < position and self.read(min(_CHUNK, position - self.position)):
            pass

    def read(self, size: int) -> bytes:
        self.last = self.file.read(size)
        self.beginning = self.beginning or self.last[:16]
        self.position += len(self.last)
        _check_ratio(self.archive, self.position)
        return self.last

    def is_complete(self) -> bool:
        """Whether the last block read is the end marker; reads to the end, where the checksums are."""
        has_end = self.last == bytes(tarfile.BLOCKSIZE)
        while self.read(_CHUNK):
            pass
        return has_end


def _tar_members(archive: Path) -> Iterator[tuple[int, int, Member]]:
    """Yield the photographs, each with the archive's size in bytes and the bytes read so far.

    The bytes read are always fewer: the last block is read ahead and may contain many photographs.
    """
    total = archive.stat().st_size
    with open(archive, "rb") as raw, _decompressor(raw) as file:
        forward = _Forward(file, archive)
        with _open_tar(forward) as tar:
            while entry := tar.next():
                tar.members.clear()  # otherwise tarfile would keep all members in memory
                if _is_own_photograph(entry.name) and not entry.isdir():
                    plain = entry.isreg() and not entry.issparse()
                    problem = "" if plain else "a link or a device; expected a file"
                    open_content = partial(_content, tar, entry)
                    time = min(max(int(entry.mtime), 0), _LATEST)
                    member = Member(entry.name, entry.size, time, problem, open_content)
                    yield total, min(raw.tell(), total - 1), member
        if not forward.is_complete():
            raise EOFError("it breaks off")


def _open_tar(forward: _Forward) -> Any:
    """The archive, if its first header is that of a tar file."""
    try:
        return tarfile.open(fileobj=forward, mode="r:")  # type: ignore[call-overload]
    except tarfile.TarError as error:
        kind = file_kind(forward.beginning)
        raise InputError(
            f"{forward.archive}: found {kind or f'no archive ({error})'}, expected {', '.join(ARCHIVES)}. "
            "Unpack it and give the folder of photographs, or download it again."
        ) from None


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None, "only files are asked for"
    return content


def _decompressor(file: IO[bytes]) -> IO[bytes]:
    head = file.read(6)
    file.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(file))
    if head.startswith(b"BZh"):
        return bz2.open(file)
    if head == b"\xfd7zXZ\x00":
        return lzma.open(file)
    return file
