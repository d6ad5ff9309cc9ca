"""Which files are photographs, and which are archives of them: by their names."""

import logging
import os
from pathlib import Path, PurePosixPath

log = logging.getLogger("pipeline")

# By Pillow's names of the formats. Other formats, such as PostScript, would start programs.
ENDINGS_OF = {
    "AVIF": (".avif",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "JPEG": (".jfif", ".jpe", ".jpeg", ".jpg"),
    "PNG": (".png",),
    "PPM": (".pgm", ".pnm", ".ppm"),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
}
FORMATS = tuple(ENDINGS_OF)
ENDINGS = tuple(ending for endings in ENDINGS_OF.values() for ending in endings)
# Folders of thumbnails and of deleted files: Synology's, QNAP's, Windows', macOS' in archives, Linux'.
COPIES = frozenset(("@eaDir", "#recycle", "@Recycle", "$RECYCLE.BIN", "__MACOSX", "lost+found"))
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


def is_archive(name: str) -> bool:
    """Whether a file is an archive of photographs that can be unpacked, by its ending."""
    return name.lower().endswith(ARCHIVES)


def without_ending(name: str) -> str:
    """A file's name without the ending of a photograph."""
    return name[: -len(_ending(name))] if is_photograph(name) else name


def is_photograph(name: str) -> bool:
    """Whether a file is a photograph by the ending of its name."""
    return _ending(name) in ENDINGS


def is_of_a_program(path: str) -> bool:
    """Whether a photograph is a program's copy, or deleted: it is hidden, or in a folder of `COPIES`."""
    parts = PurePosixPath(path).parts
    return any((part.startswith(".") and part != "..") or part in COPIES for part in parts)


def photographs_below(folder: Path) -> list[str]:
    """Paths in a folder of the photographs below it, sorted; linked folders are searched too.

    Copies and thumbnails of programs and broken links are left out, and counted in the log.
    """
    every = (
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder, followlinks=True)
        for name in filter(is_photograph, names)
    )
    found, left_out = [], 0
    for path in every:
        if is_of_a_program(path) or not (folder / path).exists():
            left_out += 1
        else:
            found.append(path)
    if left_out:
        log.warning(
            "%s: left out %d photographs: hidden, in folders like @eaDir, or broken links", folder, left_out
        )
    return sorted(found)


def _ending(name: str) -> str:
    _, dot, ending = os.path.basename(name).rpartition(".")
    return f"{dot}{ending}".lower() if dot else ""
