"""Download a published file whole and verified; a killed download is resumed."""

import email.utils
import logging
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from pipeline.common.errors import InputError
from pipeline.common.files import check_disk_space
from pipeline.common.files import sha256 as digest_of
from pipeline.common.progress import Progress

log = logging.getLogger("pipeline")

FIRST_USE = "first use"
ATTEMPTS = 8  # in a row without progress
TIMEOUT = 60.0  # seconds without a byte
_PIECE = 1 << 16  # bytes, which are lost when a connection breaks
_BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)


def download(
    url: Sequence[str],
    file: str,
    sha256: str,
    output: Path,
    size: int | None = None,
    mirror: str = "",
    lock: Path | None = None,
) -> None:
    """Download one published file and verify it.

    An incomplete download stays in `.NAME.part` next to `output`, and the next call continues it.

    Args:
        url: http or https URLs, tried in this order.
        file: HOST/PATH, its name in a mirror and in the lock file.
        sha256: 64 hexadecimal digits, or "first use".
        output: file to write.
        size: its expected bytes.
        mirror: folder or http URL laid out as HOST/PATH, asked in place of the URLs.
        lock: file that records digests of first use.

    Raises:
        InputError: no URL has the expected file; `output` is untouched.
    """
    expected = _recorded_digests(lock).get(file, "") if sha256 == FIRST_USE else sha256
    part = output.with_name(f".{output.name}.part")
    output.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for address in [f"{mirror.rstrip('/')}/{quote(file)}"] if mirror else url:
        try:
            if mirror and Path(mirror).is_dir():
                shutil.copyfile(Path(mirror) / file, part)
            elif size is None or not part.exists() or part.stat().st_size != size:
                _fetch(address, part)
            digest = _verified_digest(part, size, expected)
            break
        except (requests.RequestException, InputError) as error:
            failures.append(f"{address}: {error}")
            log.warning("%s", failures[-1])
    else:
        heading = (
            f"{file}: could not be fetched. Run the same command again, check the network, or give a mirror "
            "(sources.mirror) that holds the file; if it has changed at its source, edit its row of "
            "workflow/sources.csv, or delete its line of workflow/sources.lock:"
        )
        raise InputError("\n  - ".join([heading, *failures]))
    if sha256 == FIRST_USE and lock is not None and not expected:
        try:
            _record_digest(lock, file, digest)
        except OSError as error:  # the clone is another user's
            log.warning("%s: the digest of %s is not recorded: %s", lock, file, error)
    with open(part, "rb") as content:
        os.fsync(content.fileno())
    os.replace(part, output)
    log.info("%s: sha256 %s%s", file, digest, "" if expected else " (first use)")


def _fetch(url: str, part: Path) -> None:
    """Append to `part` what it lacks of a URL; it starts over if the server's file is newer."""
    failures = 0
    with requests.Session() as session:
        status = (408, 429, 500, 502, 503, 504)
        retries = Retry(None, connect=0, read=0, status=ATTEMPTS, backoff_factor=1, status_forcelist=status)
        session.mount("http://", HTTPAdapter(max_retries=retries))
        session.mount("https://", HTTPAdapter(max_retries=retries))
        while True:
            before = _size(part)
            try:
                return _append_rest(url, part, session)
            except _BROKEN as error:
                failures = 1 if _size(part) > before else failures + 1
                if failures == ATTEMPTS:
                    raise
                wait = 2 ** (failures - 1)
                log.warning("%s: %s; again in %d s", url, error, wait)
                time.sleep(wait)


def _append_rest(url: str, part: Path, session: requests.Session) -> None:
    headers = {"Accept-Encoding": "identity"}  # positions are those of the file itself
    if have := _size(part):
        modified = email.utils.formatdate(part.stat().st_mtime, usegmt=True)
        headers |= {"Range": f"bytes={have}-", "If-Unmodified-Since": modified}
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # nothing is missing
            return
        if answer.status_code == 412:  # changed since the part was received
            part.unlink()
            return _append_rest(url, part, session)
        answer.raise_for_status()
        have = have if answer.status_code == 206 else 0
        missing = int(answer.headers.get("Content-Length", 0))
        check_disk_space(part, missing)
        progress = Progress("bytes", have + missing, have)
        with open(part, "ab" if have else "wb", buffering=0) as file:
            for piece in answer.iter_content(_PIECE):
                file.write(piece)
                progress.advance(len(piece))


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _verified_digest(part: Path, size: int | None, expected: str) -> str:
    """The digest of a received file; one that is not the expected file is deleted."""
    found, digest = _size(part), digest_of(part)
    with open(part, "rb") as file:
        start = file.read(100).lstrip().lower()
    mistakes = []
    if start.startswith((b"<!doctype html", b"<html")):
        mistakes.append("the server sent a web page, perhaps a login")
    if size is not None and found != size:
        mistakes.append(f"found {found} bytes; expected {size}")
    if expected and digest != expected:
        mistakes.append(f"found sha256 {digest}; expected {expected}")
    if mistakes:
        part.unlink()
        raise InputError("; ".join(mistakes))
    return digest


def _recorded_digests(lock: Path | None) -> dict[str, str]:
    """Digests by HOST/PATH, in the format of sha256sum."""
    if lock is None or not lock.exists():
        return {}
    lines = [line.split("  ", 1) for line in lock.read_text(encoding="utf-8").splitlines()]
    if wrong := [line for line in lines if len(line) != 2 or len(line[0]) != 64]:
        raise InputError(f"{lock}: not a list of digests: found {wrong[0]}. Correct or delete this line.")
    return {file: digest for digest, file in lines}


def _record_digest(lock: Path, file: str, digest: str) -> None:
    """Add a digest of first use; a line is written at once, so downloads that end together mix none."""
    with open(lock, "ab", buffering=0) as lines:
        lines.write(f"{digest}  {file}\n".encode())
