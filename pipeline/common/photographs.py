"""Kinds of photographs and of archives that are read, by the endings of their names."""

import os

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


def _ending(name: str) -> str:
    _, dot, ending = os.path.basename(name).rpartition(".")
    return f"{dot}{ending}".lower() if dot else ""
