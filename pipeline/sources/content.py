"""What a file's first bytes and a server's words tell of its kind."""

import re

_MAGIC = {
    ".zip": (b"PK\x03\x04", b"PK\x05\x06"),
    ".gz": (b"\x1f\x8b",),
    ".tgz": (b"\x1f\x8b",),
    ".bz2": (b"BZh",),
    ".xz": (b"\xfd7zXZ\x00",),
}
HEAD = 1 << 16  # bytes that are looked at


def wrong_kind(name: str, head: bytes, content_type: str = "") -> str:
    """Say what is wrong with a file that begins with `head`; empty if nothing is seen.

    Servers send a page with status 200 where a login is asked for or a file has moved.
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


def _title(head: bytes) -> str:
    match = re.search(rb"<title[^>]*>(.*?)</title", head, re.IGNORECASE | re.DOTALL)
    return f"; its title: {' '.join(match[1].decode(errors='replace').split())!r}" if match else ""
