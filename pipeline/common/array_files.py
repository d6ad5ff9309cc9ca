"""Arrays that a long job saves as it goes (.npz), so that a killed run resumes."""

import logging
import zipfile
import zlib
from pathlib import Path

import numpy as np

from pipeline.common.errors import InputError, disk_message
from pipeline.common.files import atomic_write, verify_digest

log = logging.getLogger("pipeline")

# Errors that a damaged ZIP archive of arrays may raise.
_ERRORS_OF_DAMAGE = (
    InputError, OSError, ValueError, EOFError, LookupError, TypeError, SyntaxError, NotImplementedError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def save_arrays(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays by name. The ZIP archive has checksums, even on disks without extended attributes."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_arrays(path: Path, *names: str) -> list[np.ndarray] | None:
    """Arrays that `save_arrays` wrote; None if the file is missing or damaged, so it is computed again."""
    if not path.exists():
        return None
    try:
        with np.load(verify_digest(path), allow_pickle=False) as file:
            return [file[name] for name in names]
    except _ERRORS_OF_DAMAGE as error:
        if disk_message(error):
            raise
        log.warning("%s: damaged, computed again: %s", path, error)
        return None
