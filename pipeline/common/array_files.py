"""Arrays that a long job saves as it goes (.npz), so that a killed run resumes."""

import logging
from pathlib import Path

import numpy as np

from pipeline.common.files import atomic_write

log = logging.getLogger("pipeline")


def save_arrays(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays by name into a ZIP archive, which has checksums."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_arrays(path: Path, *names: str) -> list[np.ndarray] | None:
    """Arrays that `save_arrays` wrote; None if the file is missing or damaged, so it is computed again."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            return [file[name] for name in names]
    except Exception as error:
        if isinstance(error, OSError) and error.errno:  # of the disk
            raise
        log.warning("%s: damaged, computed again: %s", path, error)
        return None
