"""Folders that are written completely or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.files import name_in_errors, remove_stale
from pipeline.common.inputs import check_inputs, forget_inputs


@contextmanager
def atomic_folder(path: Path, mark: str | None = None) -> Iterator[Path]:
    """Yield a temporary folder next to `path`, which takes the place of `path` if the block succeeds.

    Args:
        mark: a file that every such folder contains. An existing folder without it is refused, unless it is
            empty. None: the caller has checked that the folder may be replaced.
    """
    if mark and path.exists() and not (path / mark).exists() and not _is_empty(path):
        raise InputError(f"{path}: already exists and has no {mark}. Give a folder that is empty or new.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with name_in_errors(path, temporary):
            remove_stale(path)
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            yield temporary
            forget_inputs(temporary)
            check_inputs()
            for file in temporary.rglob("*"):
                if file.is_file():
                    with open(file, "rb") as content:
                        os.fsync(content.fileno())
            replace_folder(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_folder(new: Path, path: Path) -> None:
    """Move the folder `new` to `path`. What was at `path` is removed only when `new` has taken its place."""
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    try:
        if path.exists():
            os.replace(path, old)
        os.replace(new, path)
    finally:
        if old.exists() and not path.exists():  # the second of the two renames failed
            os.replace(old, path)
        shutil.rmtree(old, ignore_errors=True)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
