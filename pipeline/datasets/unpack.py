"""Unpack archives of photographs into one flat folder, under their published file names."""

import logging
import os
import shutil
import tarfile
import zipfile
from calendar import timegm
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from pipeline.common.errors import InputError
from pipeline.common.files import reading, replace_folder, require_file
from pipeline.common.photographs import ENDINGS, is_of_a_program, is_photograph

log = logging.getLogger("pipeline")


class Member(NamedTuple):
    """A file in an archive: its name there, size in bytes, seconds since 1970, and how it is opened."""

    path: str
    size: int
    time: float
    open: Callable[[], IO[bytes] | None]


def unpack(archive: Sequence[Path], output: Path) -> int:
    """Unpack the photographs of ZIP and tar archives into a folder, under their names; return how many.

    Folders of the archives are ignored, so no member can leave `output`. The folder appears whole or not
    at all. A killed call is resumed: what it unpacked lies in `.NAME.part` next to `output`.

    Args:
        archive: .zip, .tar, .tar.gz, .tar.bz2, .tar.xz.
        output: folder to create.

    Raises:
        InputError: an archive is damaged, has no photographs or two of one name; `output` exists and holds
            more than photographs.
    """
    if output.exists() and (output.is_file() or any(not _is_own(path.name) for path in output.glob("[!.]*"))):
        raise InputError(f"{output}: holds more than photographs, and would be replaced. Give a new folder.")
    folder = output.with_name(f".{output.name}.part")
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    for path in archive:
        require_file(path, "the archive of photographs", "Download it, or give another path.")
        with reading(path, "a whole archive", "Download it again."):
            for member in filter(lambda each: _is_own(each.path), _members(path)):
                name = PurePosixPath(member.path).name
                if name in names:
                    raise InputError(f"{path}: {member.path} has the name of {names[name]}. Rename one.")
                names[name] = member.path
                _unpack_one(member, folder / name)
                if len(names) % 5000 == 0:
                    log.info("%s: %s photographs so far", output, f"{len(names):,}")
    if not names:
        raise InputError(
            f"{', '.join(map(str, archive))}: no {', '.join(ENDINGS)} file. Give another archive."
        )
    for other in {entry.name for entry in folder.iterdir()} - names.keys():  # of an earlier archive
        (folder / other).unlink()
    replace_folder(folder, output)
    log.info("%s: %s photographs", output, f"{len(names):,}")
    return len(names)


def _unpack_one(member: Member, path: Path) -> None:
    """Write one photograph, unless an earlier call did."""
    if path.exists() and (path.stat().st_size, path.stat().st_mtime) == (member.size, member.time):
        return
    temporary = path.with_name(".unpacking")
    with open(temporary, "wb") as target, member.open() as source:  # type: ignore[union-attr] # it is a file
        shutil.copyfileobj(source, target)
    os.utime(temporary, (member.time, member.time))  # by which an unchanged photograph is known
    os.replace(temporary, path)


def _is_own(path: str) -> bool:
    return is_photograph(path) and not is_of_a_program(path)


def _members(archive: Path) -> Iterator[Member]:
    if archive.suffix.lower() == ".zip":
        with zipfile.ZipFile(archive) as file:
            for entry in file.infolist():
                year, month, day, *clock = entry.date_time
                time = timegm((year, max(month, 1), max(day, 1), *clock))  # some programs write a month 0
                yield Member(entry.filename, entry.file_size, time, partial(file.open, entry))
    else:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isreg():
                    yield Member(member.name, member.size, member.mtime, partial(tar.extractfile, member))
