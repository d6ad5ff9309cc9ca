"""Read published text files line by line, and report all that is wrong with them together."""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.common.errors import InputError, raise_together
from pipeline.common.file_kinds import file_kind
from pipeline.common.files import require_file

if TYPE_CHECKING:
    from _typeshed import SupportsRead

TRANSLATION, COMPARABLE = "translation", "comparable"  # parts of *Lessons*

_ARCHIVES = (b"PK", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")  # magic bytes of the archives that can be read
_MOST = 1 << 30  # bytes of a file of captions
_UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, RuntimeError)


class PublishedFiles:
    """A folder of published files, laid out as HOST/PATH of their URLs.

    Readers collect mistakes and continue; `check` raises them together.
    """

    def __init__(self, folder: Path):
        self.folder = require_file(folder, "the folder of sources", "Download the sources first.")
        self.mistakes: list[str] = []

    def lines(self, name: str) -> list[str]:
        """Lines of a text file (UTF-8, gzip if its name ends so) without outer white space or empty end."""
        path = self.folder / name
        try:
            with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
                return split_lines(read_bounded(file))
        except InputError as error:
            self.mistakes.append(str(error))
        except FileNotFoundError:
            self.mistakes.append(f"{path}: not there; download it (workflow/sources.csv has its URL)")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            self.mistakes.append(f"{path}: cannot be read: {error}; download it again")
        return []

    def members(self, container: Path, names: Collection[str]) -> dict[str, bytes]:
        """Contents of the files with these names, at any depth of a folder or a ZIP or tar archive.

        Nothing is unpacked. If several files have the same name, the first counts, and the others are
        mistakes.
        """
        contents: dict[str, bytes] = {}
        try:
            for member, content in _members(container, names):
                name = PurePosixPath(member).name
                if name in contents:
                    self.mistakes.append(f"{container}: holds a second {name}: {member}; keep one of them")
                contents.setdefault(name, content)
        except InputError as error:
            self.mistakes.append(str(error))
        except FileNotFoundError:
            self.mistakes.append(f"{container}: not there; get it (workflow/sources.csv says where)")
        except _UNREADABLE as error:
            reason = str(error).partition("\n")[0].rstrip(":")
            self.mistakes.append(f"{container}: cannot be read: {_kind(container) or reason}; get it again")
        else:
            missing = sorted(set(names) - set(contents))
            if missing:
                self.mistakes.append(f"{container}: holds no {', '.join(missing)}; is it the published file?")
        return contents

    def check(self) -> None:
        """Raise an `InputError` that lists every mistake found so far."""
        raise_together(self.mistakes, f"{self.folder}: the sources cannot be used:")


def _kind(container: Path) -> str:
    """The kind of a file given in place of an archive, and what to do; empty if it is unknown."""
    if not container.is_file():
        return ""
    with open(container, "rb") as file:
        beginning = file.read(16)
    kind = "" if beginning.startswith(_ARCHIVES) else file_kind(beginning)
    return kind and f"found {kind}, expected a ZIP or tar archive or a folder; unpack it"


def read_bounded(file: "SupportsRead[bytes]") -> bytes:
    """The content of a file, unless too large for captions; a small archive may unpack to any size."""
    content = file.read(_MOST + 1)
    if len(content) > _MOST:
        raise EOFError(f"it holds more than {_MOST >> 20} MB, more than published captions ever do")
    return content


def split_lines(content: bytes) -> list[str]:
    """Lines of a text in UTF-8, without outer white space or an empty end.

    Not splitlines(), which also ends a line at rarer separators that stand inside captions.
    """
    return [line.strip() for line in content.decode("utf-8-sig").removesuffix("\n").split("\n")]


def _members(container: Path, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Path inside the container and content of each file that has one of the names."""
    if container.is_dir():
        paths = sorted(path for path in container.rglob("*") if path.name in names and path.is_file())
        yield from ((path.relative_to(container).as_posix(), path.read_bytes()) for path in paths)
    elif zipfile.is_zipfile(container):
        with zipfile.ZipFile(container) as file:
            for name in file.namelist():
                if PurePosixPath(name).name in names:
                    with file.open(name) as content:
                        yield name, read_bounded(content)
    else:
        with tarfile.open(container) as archive:
            for member in archive:
                if member.isfile() and PurePosixPath(member.name).name in names:
                    entry = archive.extractfile(member)
                    yield member.name, read_bounded(entry) if entry else b""


def require_language(language: str, languages: Collection[str], data: str) -> str:
    """The language, if a data set has captions in it.

    Raises:
        InputError: it has none.
    """
    if language not in languages:
        raise InputError(f"{data} has no captions in {language!r}; it has {', '.join(languages)}.")
    return language


def no_part(part: str, language: str, languages: Sequence[str]) -> str:
    """The message for a language in which a part of *Lessons* has no captions."""
    others = f"; it has {', '.join(languages)}" if languages else ""
    return (
        f"The {part} part has no captions in {language!r}{others}. Take the language out of the experiment, "
        "or name another part in its selection."
    )
