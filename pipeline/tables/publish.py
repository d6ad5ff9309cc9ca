"""Replacing earlier tables by finished tables."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file


def publish(files: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Copy each file to its output; no output is replaced before every file has been copied.

    Args:
        files: finished tables.
        outputs: where each is copied to.

    Raises:
        InputError: a file is missing, or there are not as many outputs as files.
    """
    if len(files) != len(outputs):
        raise InputError(
            f"publish: found {len(files)} --files and {len(outputs)} --outputs, expected equal numbers"
        )
    with ExitStack() as stack:
        for path, output in zip(files, outputs, strict=True):
            require_file(path, "the finished table", "Make it again: run the same snakemake command.")
            shutil.copyfile(path, stack.enter_context(atomic_write(output)))
