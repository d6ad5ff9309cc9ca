"""Read published texts: their lines, and members of archives. Their digests were checked at the download."""

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from pipeline.common.errors import InputError
from pipeline.common.files import reading, require_file

TRANSLATION, COMPARABLE = "translation", "comparable"  # parts of *Lessons*


def text_lines(path: Path) -> list[str]:
    """Lines of a text file (UTF-8, gzip if its name ends so) without outer white space or empty end."""
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return split_lines(file.read())


def split_lines(content: bytes) -> list[str]:
    """Lines of a text in UTF-8, without outer white space or an empty end.

    Not splitlines(), which also ends a line at rarer separators that stand inside captions.
    """
    return [line.strip() for line in content.decode("utf-8-sig").removesuffix("\n").split("\n")]


def members(container: Path, names: Collection[str]) -> dict[str, bytes]:
    """Contents of the files with these names, at any depth of a folder or a ZIP or tar archive.

    Raises:
        InputError: it is missing or damaged, or lacks one of the files.
    """
    require_file(container, "the published data", "Get it (workflow/sources.csv says where).")
    with reading(container, "the folder or archive of the published data", "Get it again."):
        found = files_in(container, lambda path: PurePosixPath(path).name in names)
        contents = {PurePosixPath(path).name: content for path, content in found}
    if missing := sorted(set(names) - contents.keys()):
        raise InputError(f"{container}: holds no {', '.join(missing)}. Is it the published data?")
    return contents


def files_in(container: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Path and content of each wanted file in a folder, a ZIP or a tar archive, without a tar's links.

    Args:
        wanted: whether a path inside the container is wanted.
    """
    if container.is_dir():
        for file in sorted(filter(Path.is_file, container.rglob("*"))):
            if wanted(path := file.relative_to(container).as_posix()):
                yield path, file.read_bytes()
    elif zipfile.is_zipfile(container):
        with zipfile.ZipFile(container) as zipped:
            yield from ((path, zipped.read(path)) for path in zipped.namelist() if wanted(path))
    else:
        with tarfile.open(container) as archive:
            for member in archive:
                if member.isfile() and wanted(member.name):
                    entry = archive.extractfile(member)
                    yield member.name, entry.read() if entry else b""


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
