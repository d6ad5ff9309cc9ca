"""Folders that are either whole or not there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.files import name_in_errors


@contextmanager
def folder_written_beside(path: Path, mark: str) -> Iterator[Path]:
    """Give a temporary folder beside `path`; it takes the place of `path` once the block succeeds.

    Args:
        mark: a file that such a folder holds. Another folder that is not empty is never replaced.
    """
    if path.exists() and not (path / mark).exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: already exists and has no {mark}. Give a folder that is empty or new.")
    temporary, old = (path.with_name(f".{path.name}.{os.getpid()}.{end}") for end in ("part", "old"))
    try:
        with name_in_errors(path, temporary):
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_file():
                    with open(file, "rb") as opened:
                        os.fsync(opened.fileno())
            if path.exists():
                os.replace(path, old)
            os.replace(temporary, path)
    finally:
        if old.exists() and not path.exists():  # ended between the two renames
            os.replace(old, path)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
