"""A small real disk for a test: a tmpfs that can be filled and mounted read-only."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


class Disk:
    """A mounted tmpfs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.filler = folder / "filler"

    @property
    def free(self) -> int:
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def fill(self, leave: int = 0) -> None:
        """Fill it, except for some bytes."""
        self.filler.write_bytes(bytes(max(0, self.free - leave)))

    def make_room(self) -> None:
        self.filler.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Mount it read-only during the block."""
        _run("mount", "-o", "remount,ro", str(self.folder))
        try:
            yield
        finally:
            _run("mount", "-o", "remount,rw", str(self.folder))


@contextmanager
def disk(folder: Path, size: int) -> Iterator[Disk]:
    """Mount a tmpfs of `size` bytes at a new folder."""
    folder.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield Disk(folder)
    finally:
        _run("umount", "--lazy", str(folder))


@cache
def missing() -> str:
    """Why no tmpfs can be mounted here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can mount a tmpfs"
    with TemporaryDirectory() as folder:
        try:
            with disk(Path(folder) / "disk", 4096):
                return ""
        except (OSError, subprocess.CalledProcessError) as error:
            return f"a tmpfs cannot be mounted here: {error}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
