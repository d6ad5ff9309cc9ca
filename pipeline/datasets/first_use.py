"""Digests of files published without one: trust on first use.

The lock file has the format of `sha256sum`, so `sha256sum --check` reads it: `DIGEST  HOST/PATH`, sorted.
"""

import re
from pathlib import Path

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write
from pipeline.common.locks import open_locked


def recorded_digest(lock: Path, file: str) -> str:
    """Digest of HOST/PATH `file` at its first use; empty if it is not in the lock file."""
    return _read(lock).get(file, "") if lock.exists() else ""


def record(lock: Path, file: str, digest: str) -> None:
    """Add a digest; safe for downloads that end at the same time.

    Raises:
        InputError: the lock file has got another digest of the file in the meantime.
    """
    with open_locked(lock, wait=True):
        digests = _read(lock)
        if digests.setdefault(file, digest) != digest:
            raise InputError(f"{file}: {changed_message(lock, digests[file], digest)}")
        with atomic_write(lock) as temporary:
            lines = [f"{digests[name]}  {name}\n" for name in sorted(digests)]
            temporary.write_text("".join(lines), encoding="utf-8")


def changed_message(lock: Path, expected: str, digest: str) -> str:
    """The message for a file that differs from its first use."""
    return (
        f"sha256: found {digest}; expected {expected}. The file has changed since first use; "
        f"delete its line from {lock} if that is intended"
    )


def _read(lock: Path) -> dict[str, str]:
    digests, mistakes = {}, []
    for number, line in enumerate(lock.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if match:
            digests[match[2]] = match[1]
        else:
            mistakes.append(
                f"line {number}: found {line!r}; expected 64 hexadecimal digits, 2 spaces, HOST/PATH"
            )
    raise_together(mistakes, f"{lock}: not a list of digests; correct or delete these lines:")
    return digests
