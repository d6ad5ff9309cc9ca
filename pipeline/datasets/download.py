"""Download the published files completely and verified, or say exactly what is missing."""

import logging
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from pipeline.common.addresses import address, address_mistake, credentials_mistake
from pipeline.common.errors import InputError, error_message, raise_together
from pipeline.common.files import sha256
from pipeline.common.secrets import hide, password_of
from pipeline.datasets import first_use
from pipeline.datasets.content import HEAD, kind_mistake, truncation_message
from pipeline.datasets.partial_download import PartialDownload, open_partial
from pipeline.datasets.transfer import USUAL, Patience, PermanentError, fetch

log = logging.getLogger("pipeline")

FIRST_USE = "first use"


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

    Args:
        url: http, https or file URLs, tried in this order.
        file: HOST/PATH, its name in a mirror and in the lock file.
        sha256: 64 hexadecimal digits, or "first use".
        output: file to write.
        size: its expected bytes; without it, what the server reports.
        mirror: folder or http URL laid out as HOST/PATH to copy from.
        lock: file that records digests on first use.
    """
    download_file(url, output, file, sha256, size, mirror, lock)


def download_file(
    urls: Sequence[str],
    output: Path,
    file: str,
    digest: str,
    size: int | None = None,
    mirror: str = "",
    lock: Path | None = None,
    patience: Patience = USUAL,
) -> None:
    """Download one file from the first URL that has it, or only from a mirror; arguments as of `download`.

    An incomplete download stays in `.NAME.part` next to `output`; the next call tries its URL first and
    resumes it. Without `lock`, a digest of first use is only logged.

    Raises:
        InputError: the file is missing, cut short, or not the one expected; `output` is untouched.
    """
    _check_arguments(urls, file, digest, mirror)
    first_lock = lock if digest == FIRST_USE else None
    expected = digest.lower() if digest != FIRST_USE else ""
    if first_lock:
        expected = first_use.recorded_digest(first_lock, file)
    try:
        with open_partial(output) as part:
            first = part.origin.url
            in_order = [_mirror_url(mirror, file)] if mirror else sorted(urls, key=lambda url: url != first)
            digest_of_file = _complete_from_first(in_order, part, file, expected, size, first_lock, patience)
            if first_lock:
                first_use.record(first_lock, file, digest_of_file)
            part.finish(output)
    except OSError as error:
        error.filename = error.filename or str(output)
        reason = f"{error.filename}: cannot be written: {error.strerror}."
        raise InputError(error_message(error) or reason) from None
    log.info("%s: sha256 %s%s", file, digest_of_file, "" if expected else " (first use)")


def _check_arguments(urls: Sequence[str], file: str, digest: str, mirror: str) -> None:
    addresses = [*(("url", url) for url in urls), ("mirror", mirror)]
    mistakes = [f"{name}: {mistake}" for name, url in addresses if (mistake := credentials_mistake(url))]
    raise_together(mistakes, "The download cannot start:")  # before any message could contain them
    mistakes = [
        f"url: found {url!r}; expected http://, https:// or file://"
        for url in urls
        if (parts := address(url)) is None or parts.scheme not in ("http", "https", "file")
    ]
    if _is_web(mirror) and (mistake := address_mistake(mirror)):
        mistakes.append(
            f"mirror: found {mirror.partition('?')[0]!r}; expected an address such as http://localhost:8000: "
            f"{mistake}"
        )
    path = PurePosixPath(file)
    if not path.name or path.is_absolute() or ".." in path.parts:
        mistakes.append(f"file: found {file!r}; expected HOST/PATH")
    if not re.fullmatch(rf"[0-9a-fA-F]{{64}}|{FIRST_USE}", digest):
        mistakes.append(f"sha256: found {digest!r}; expected 64 hexadecimal digits or {FIRST_USE!r}")
    if mirror and not _is_web(mirror) and not Path(mirror).is_dir():
        mistakes.append(f"mirror: found {mirror!r}; expected a folder or a http URL")
    raise_together(mistakes, "The download cannot start:")


def _is_web(mirror: str) -> bool:
    return mirror.startswith(("http://", "https://"))


def _mirror_url(mirror: str, file: str) -> str:
    if _is_web(mirror):
        return f"{mirror.rstrip('/')}/{quote(file)}"
    return (Path(mirror).resolve() / file).as_uri()


def _complete_from_first(
    urls: Sequence[str],
    part: PartialDownload,
    file: str,
    expected: str,
    size: int | None,
    lock: Path | None,
    patience: Patience,
) -> str:
    """Complete the partial file from one URL after another; return its digest."""
    answers = []
    for url in urls:
        try:
            fetch(url, part, PurePosixPath(file).name, size, patience)
            return _verified_digest(part, file, expected, size, lock)
        except PermanentError as failure:
            reason = hide(str(failure), password_of(url))  # a page's title may repeat it
            answers.append(f"{url}: {reason}")
            log.warning("%s: %s", url, reason)
    remark = f"{part.size:,} bytes are kept in {part.path} for the next call. " if part.size else ""
    raise InputError(
        "\n  - ".join(
            [
                f"{file}: could not be fetched. {remark}Run it again, check the network, or give a mirror "
                "that holds the file; if it has changed at its source, edit its row of workflow/sources.csv:",
                *answers,
            ]
        )
    )


def _verified_digest(
    part: PartialDownload, file: str, expected: str, size: int | None, lock: Path | None
) -> str:
    """The digest of a complete partial download; with a wrong digest, it is emptied."""
    found_size, digest = part.size, sha256(part.path)
    mistakes = []
    with open(part.path, "rb") as content:
        if wrong := kind_mistake(PurePosixPath(file).name, content.read(HEAD)):
            mistakes.append(wrong)
    if size is not None and found_size != size:
        mistakes.append(f"size: found {found_size} bytes; expected {size}")
    # The digest of the first download is expected from then on, so it must not be that of half a file.
    if not expected and not mistakes and (problem := truncation_message(PurePosixPath(file).name, part.path)):
        mistakes.append(problem)
    if expected and digest != expected:
        mistakes.append(
            first_use.changed_message(lock, expected, digest)
            if lock
            else f"sha256: found {digest}; expected {expected}"
        )
    if mistakes:
        part.clear()
        raise PermanentError("; ".join(mistakes) + "; nothing of it was kept")
    return digest
