"""Files that are complete or absent, and disk errors that name them."""

import errno
import os
import time
from pathlib import Path

import pytest

from pipeline.common.errors import InputError, disk_message
from pipeline.common.files import (
    STALE_AFTER,
    atomic_write,
    check_disk_space,
    link_or_copy,
    name_in_errors,
    named_files,
    verify_digest,
)
from pipeline.common.folders import atomic_folder


def write(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def test_old_temporary_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    old, young, other = (tmp_path / f".{name}.part" for name in ("a.csv.17", "a.csv.18", "b.csv.17"))
    for path in (old, young, other):
        path.write_text("half")
    long_ago = time.time() - STALE_AFTER - 60
    for path in (old, other):
        os.utime(path, (long_ago, long_ago))
    write(tmp_path / "a.csv", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.csv.18.part", ".b.csv.17.part", "a.csv"]


def test_old_temporary_folders_of_killed_writers_are_removed(tmp_path: Path) -> None:
    long_ago = time.time() - STALE_AFTER - 60
    for name in ("tar", "17", "18"):  # the first is not one of them
        file = tmp_path / f".out.{name}.part/inner/a.csv"
        file.parent.mkdir(parents=True)
        file.write_text("half")
        for path in (file, file.parent, file.parent.parent):
            os.utime(path, (long_ago, long_ago))
    os.utime(file)  # a large file grows, while the folders above it stay unchanged
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "a.csv").write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.18.part", ".out.tar.part", "out"]


def test_an_error_of_the_disk_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("earlier")
    with pytest.raises(OSError) as full, atomic_write(path) as temporary:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert disk_message(full.value).startswith(f"{path}: no space is left on its disk. Make room, then run")
    with pytest.raises(OSError) as denied, atomic_write(path) as temporary:
        raise PermissionError(errno.EACCES, "Permission denied", str(temporary))
    assert disk_message(denied.value).startswith(f"{path}: permission denied.")
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_the_disks_reason_replaces_torchs_message(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as full, name_in_errors(tmp_path / "a.pt"):
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        finally:
            raise RuntimeError("unexpected pos 704 vs 598")
    assert full.value.filename == str(tmp_path / "a.pt")


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mistake"), name_in_errors(tmp_path / "a.pt"):
        raise RuntimeError("a mistake of the code")
    with pytest.raises(RuntimeError, match="mistake"), name_in_errors(tmp_path / "a.pt"):
        try:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", "b")
        except FileNotFoundError:
            raise RuntimeError("a mistake of the code")  # noqa: B904
    with pytest.raises(FileNotFoundError) as missing, name_in_errors(tmp_path / "a.pt"):
        (tmp_path / "b").read_text()
    assert str(missing.value.filename) == str(tmp_path / "b")
    assert disk_message(missing.value) == ""


def test_disk_space_is_checked_before_long_work(tmp_path: Path) -> None:
    check_disk_space(tmp_path / "new" / "a.h5", 1)
    with pytest.raises(InputError, match=r"a\.h5: 1(,000){6} bytes are needed, [\d,]+ are free"):
        check_disk_space(tmp_path / "a.h5", 1_000_000_000_000_000_000)


def test_a_linked_file_outlives_the_first(tmp_path: Path) -> None:
    write(tmp_path / "a", "whole")
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").samefile(tmp_path / "b")
    (tmp_path / "a").unlink()
    link_or_copy(tmp_path / "b", tmp_path / "a")
    assert (tmp_path / "a").read_text() == "whole"


def test_a_disk_without_links_gets_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*paths: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    (tmp_path / "a").write_text("whole")
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_named_files_are_told_apart_by_their_names_and_all_mistakes_are_listed() -> None:
    assert named_files(["en=a/b.csv", "de=c=d.csv"]) == {"en": Path("a/b.csv"), "de": Path("c=d.csv")}
    with pytest.raises(InputError) as error:
        named_files(["en", "=b", "de=c", "fr="])
    with pytest.raises(InputError, match=r"Several files of one name; give one:\n  - en: a, c"):
        named_files(["en=a", "de=b", "en=c"])
    assert [given in str(error.value) for given in ("'en'", "'=b'", "'fr='", "'de=c'")] == [True] * 3 + [
        False
    ]


def test_a_file_that_is_linked_again_leaves_no_temporary_one(tmp_path: Path) -> None:
    first, other = tmp_path / "a", tmp_path / "b"
    first.write_text("a")
    for _ in range(2):
        link_or_copy(first, other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.fixture
def without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without extended attributes."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    monkeypatch.setattr(os, "getxattr", refuse)


@pytest.mark.usefixtures("without_attributes")
def test_without_attributes_a_digest_next_to_a_file_reveals_damage(tmp_path: Path) -> None:
    path, link = tmp_path / "a.csv", tmp_path / "folder" / "b.csv"
    write(path, "image")
    link_or_copy(path, link)
    assert verify_digest(path) == path and verify_digest(link) == link
    with open(path, "r+") as file:
        file.write("omage")
    for damaged in (path, link):
        beside = damaged.with_name(f".{damaged.name}.sha256")
        with pytest.raises(InputError, match=f"changed since it was written.*remove the digest: rm {beside}"):
            verify_digest(damaged)
    (tmp_path / ".a.csv.sha256").unlink()
    assert verify_digest(path) == path


@pytest.mark.usefixtures("without_attributes")
def test_without_attributes_a_file_that_replaces_another_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, "image")
    (tmp_path / "mine.csv").write_text("another")
    os.replace(tmp_path / "mine.csv", path)
    assert verify_digest(path) == path
    write(path, "a third")
    assert verify_digest(path) == path
    with open(path, "r+") as file:
        file.write("x")
    with pytest.raises(InputError, match="changed since it was written"):
        verify_digest(path)


@pytest.mark.usefixtures("without_attributes")
@pytest.mark.parametrize("noted", ["", "abc", "0" * 64, f"{'0' * 64} none"])
def test_without_attributes_a_half_written_digest_is_ignored(tmp_path: Path, noted: str) -> None:
    write(tmp_path / "a.csv", "image")
    (tmp_path / ".a.csv.sha256").write_text(noted)
    assert verify_digest(tmp_path / "a.csv")
