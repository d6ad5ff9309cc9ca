"""Fetch the published files, whole and checked, or say exactly what is missing."""

import http.client
import logging
import os
import re
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote, urlsplit

from pipeline.errors import InputError, raise_together
from pipeline.files import existing, sha256, written_beside
from pipeline.progress import Progress, counted

log = logging.getLogger("pipeline")

_CHUNK = 1 << 20  # bytes
_TIMEOUT = 60  # seconds without a byte
_USER_AGENT = "multilingual-retrieval"


def download(
    url: str, output: Path, digest: str = "", size: int | None = None, mirror: Path | None = None
) -> None:
    """Fetch `url` to `output`, or copy it from a mirror laid out as `mirror/HOST/PATH`.

    Args:
        url: an http, https or file URL.
        digest: expected SHA-256, hexadecimal; empty: not checked, but logged.
        size: expected size in bytes; None: not checked.

    Raises:
        InputError: the file is missing, cut short, or not the one expected; `output` is untouched.
    """
    _check_arguments(url, digest)
    with written_beside(output) as temporary:
        if mirror is None:
            _fetch(url, temporary)
        else:
            parts = urlsplit(url)
            path = mirror / parts.netloc / unquote(parts.path).lstrip("/")
            existing(path, f"the mirror's copy of {url}", "Put the file there, or leave out the mirror.")
            shutil.copyfile(path, temporary)
        _check_content(temporary, url, digest, size)


def _check_arguments(url: str, digest: str) -> None:
    mistakes = []
    if urlsplit(url).scheme not in ("http", "https", "file"):
        mistakes.append(f"url: found {url!r}; expected http://, https:// or file://")
    if not re.fullmatch(r"([0-9a-fA-F]{64})?", digest):
        mistakes.append(f"sha256: found {digest!r}; expected 64 hexadecimal digits, or nothing")
    raise_together(mistakes, "The download cannot start:")


def _fetch(url: str, path: Path) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": _USER_AGENT})
    mend = "Check the address and the network, or give a mirror that holds the file."
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response, open(path, "wb") as file:
            expected = response.headers.get("Content-Length")
            found = _copy(response, file, int(expected) if expected else None)
    except urllib.error.HTTPError as error:
        raise InputError(f"{url}: the server answered {error.code} {error.reason}. {mend}") from None
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"{url}: could not be fetched: {error}. {mend}") from None
    if expected and found != int(expected):
        raise InputError(f"{url}: the transfer broke off: {found} of {expected} bytes came. Run it again.")


def _copy(response: IO[bytes], file: IO[bytes], total: int | None) -> int:
    # Without a Content-Length nothing is known to be left, and nothing is logged.
    progress = Progress("bytes", total) if total else None
    while chunk := response.read(_CHUNK):
        file.write(chunk)
        if progress:
            progress.advance(len(chunk))
    return file.tell()


def _check_content(path: Path, url: str, digest: str, size: int | None) -> None:
    found_size, found_digest = path.stat().st_size, sha256(path)
    mistakes = []
    if size is not None and found_size != size:
        mistakes.append(f"size: found {found_size} bytes; expected {size}")
    if digest and found_digest != digest.lower():
        mistakes.append(f"sha256: found {found_digest}; expected {digest.lower()}")
    raise_together(
        mistakes,
        f"{url}: not the file that was expected; nothing was kept. Fetch it again; "
        "if it has changed at its source, check it and mend its row of workflow/sources.csv:",
    )
    log.info("%s: %s bytes, sha256 %s%s", url, found_size, found_digest, "" if digest else " (not checked)")


def image_id(file_name: str) -> str:
    """Id of a Flickr photograph: its file's name up to the first dot or underscore.

    Flickr8k's `1000268201_693b08cb0e.jpg` and Multi30K's `1000268201.jpg` are one photograph.
    """
    return re.split(r"[._]", file_name, maxsplit=1)[0]


def unpack_photographs(archive: Path, output: Path) -> int:
    """Unpack the JPEG files of a Flickr archive as `output/{image id}.jpg`; return how many.

    Folders of the archive are ignored, so no member can leave `output`. The folder appears whole
    or not at all.

    Raises:
        InputError: not a readable ZIP archive, no photographs, or ids that are empty or not unique.
    """
    existing(archive, "the archive of photographs", "Download it, or give another path.")
    temporary = output.with_name(f".{output.name}.{os.getpid()}.part")
    temporary.mkdir(parents=True)
    try:
        with zipfile.ZipFile(archive) as file:
            members = _photographs(file, archive)
            for image, member in counted(members.items(), "photographs", len(members)):
                with file.open(member) as source, open(temporary / f"{image}.jpg", "wb") as target:
                    shutil.copyfileobj(source, target, _CHUNK)
        _replace_folder(temporary, output)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise InputError(f"{archive}: not a sound ZIP archive: {error}. Download it again.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return len(members)


def _photographs(file: zipfile.ZipFile, archive: Path) -> dict[str, str]:
    """Map image ids to the archive's member names."""
    members: dict[str, str] = {}
    mistakes = []
    for member in file.namelist():
        path = PurePosixPath(member)
        # macOS adds a `__MACOSX/.../._NAME.jpg` of its own for each file.
        if path.suffix.lower() not in (".jpg", ".jpeg") or path.name.startswith("."):
            continue
        image = image_id(path.name)
        if not re.fullmatch(r"[0-9A-Za-z-]+", image):
            mistakes.append(f"{member}: its name begins with no id; expected ID.jpg or ID_SECRET.jpg")
        elif image in members:
            mistakes.append(f"{member}: the same id as {members[image]}")
        members.setdefault(image, member)
    raise_together(mistakes, f"{archive}: photographs without an id of their own:")
    if not members:
        raise InputError(f"{archive}: holds no .jpg or .jpeg file. Is it the archive of the photographs?")
    return members


def _replace_folder(new: Path, output: Path) -> None:
    """Move `new` to `output`; a folder that was there goes only when the new one is complete."""
    if output.exists():
        old = new.with_suffix(".old")
        output.rename(old)
        new.rename(output)
        shutil.rmtree(old)
    else:
        new.rename(output)
