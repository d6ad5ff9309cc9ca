"""The type of a file, from its first bytes and the server's headers."""

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAGIC = {
    ".zip": (b"PK\x03\x04", b"PK\x05\x06"),
    ".gz": (b"\x1f\x8b",),
    ".tgz": (b"\x1f\x8b",),
    ".bz2": (b"BZh",),
    ".xz": (b"\xfd7zXZ\x00",),
}
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
HEAD = 1 << 16  # bytes that are looked at


def is_archive(name: str) -> bool:
    """Whether a file is an archive of photographs that can be unpacked, by its ending."""
    return name.lower().endswith(ARCHIVES)


def kind_mistake(name: str, head: bytes, content_type: str = "") -> str:
    """The problem with a file that begins with `head`; empty if none is found.

    Servers may send a page with status 200 if a login is required or a file has moved.
    """
    if name.lower().endswith((".html", ".htm")):
        return ""
    start = head[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()[:15].lower()
    if content_type.startswith(("text/html", "application/xhtml")) or start.startswith(
        (b"<!doctype html", b"<html")
    ):
        return f"the server sent a page, perhaps a login or a moved file{_title(head)}"
    for suffix, starts in _MAGIC.items():
        if name.lower().endswith(suffix) and not head.startswith(starts):
            return f"not a {suffix} file: it begins with {head[:8]!r}"
    return ""


def truncation_message(name: str, path: Path) -> str:
    """The message for a truncated compressed file or ZIP archive; empty for complete and other files."""
    kinds: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".xz": lzma.open}
    openers = kinds | {".gz": gzip.open, ".tgz": gzip.open}
    try:
        if (suffix := Path(name).suffix) in openers:
            with openers[suffix](path, "rb") as file:
                while file.read(1 << 20):
                    pass
        elif name.endswith(".zip"):
            zipfile.ZipFile(path).close()
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        return f"it is cut short or damaged: {error}"
    return ""


def _title(head: bytes) -> str:
    match = re.search(rb"<title[^>]*>(.*?)</title", head, re.IGNORECASE | re.DOTALL)
    return f"; its title: {' '.join(match[1].decode(errors='replace').split())!r}" if match else ""
