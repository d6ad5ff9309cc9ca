"""A project's copy is restored completely, whatever a test did to it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from copies import Copy


def overwrite(folder: Path) -> None:
    """Overwrite a file with as many bytes, and keep its modification time."""
    before = (file := folder / "work/model.pt").stat()
    file.write_bytes(b"MODEL")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_link(folder: Path) -> None:
    (folder / "small.yaml").unlink()
    (folder / "small.yaml").symlink_to("work/model.pt")


CHANGES: dict[str, Callable[[Path], object]] = {
    "overwritten": overwrite,
    "touched": lambda folder: (folder / "work/model.pt").touch(),
    "mode": lambda folder: (folder / "work").chmod(0o700),
    "attribute": lambda folder: os.setxattr(folder / "work/model.pt", "user.sha256", b"other"),
    "removed": lambda folder: (folder / "work/model.pt").unlink(),
    "entry removed": lambda folder: (folder / "small.yaml").unlink(),
    "renamed": lambda folder: (folder / "work").rename(folder / "works"),
    "more": lambda folder: (folder / "work/link").symlink_to("model.pt"),
    "entry more": lambda folder: (folder / "photo.csv").mkdir(),
    "replaced by a link": replace_by_link,
}


def content_of(folder: Path) -> dict[str, object]:
    """Everything about a folder that a later test could notice."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        attributes = (
            {} if path.is_symlink() else {name: os.getxattr(path, name) for name in os.listxattr(path)}
        )
        found[str(path.relative_to(folder))] = (state.st_mode, state.st_mtime_ns, content, attributes)
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_is_restored(tmp_path: Path, change: str) -> None:
    original = tmp_path / "original"
    (original / "work").mkdir(parents=True)
    (original / "workflow").mkdir()
    (original / "small.yaml").write_text("scale: demo\n")
    (original / "work/model.pt").write_bytes(b"model")
    os.setxattr(original / "work/model.pt", "user.sha256", b"digest")
    copy = Copy(original, tmp_path / "copy", ["workflow"])
    assert (copy.folder / "workflow").is_symlink()
    before, first = content_of(copy.folder), content_of(original)
    for _ in range(2):
        CHANGES[change](copy.folder)
        assert content_of(copy.folder) != before
        copy.restore()
        assert content_of(copy.folder) == before
    assert content_of(original) == first
