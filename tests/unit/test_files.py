"""Files and folders that are complete or absent, and errors that name them."""

import errno
import os
from pathlib import Path

import pytest

from pipeline.common.errors import InputError, error_message
from pipeline.common.files import (
    atomic_folder,
    atomic_write,
    check_disk_space,
    link_or_copy,
    read_utf8,
    reading,
)
from pipeline.common.torch_files import read_torch, write_torch


def write(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(file: int) -> None:
        calls.append(f"{os.fstat(file).st_size} bytes")
        fsync(file)

    def noted_replace(source: Path, target: Path) -> None:
        calls.append(target.name)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with atomic_folder(tmp_path / "out") as folder:
        write(folder / "b.csv", "whole")
    assert calls == ["5 bytes", "b.csv", "5 bytes", "out"]


def test_a_failed_write_leaves_the_earlier_file_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, "earlier")
    with pytest.raises(OSError) as full, atomic_write(path) as temporary:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error_message(full.value).startswith(f"{path}: No space left on device. ")
    with pytest.raises(FileNotFoundError) as missing, atomic_write(path):
        (tmp_path / "other.csv").read_text()
    assert error_message(missing.value).startswith(f"{tmp_path / 'other.csv'}: No such file")
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_overwritten_and_no_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "kept", "kept")
    os.link(tmp_path / "kept", tmp_path / ".a.csv.part")
    (tmp_path / ".out.part").mkdir()
    (tmp_path / ".out.part/half").touch()
    write(tmp_path / "a.csv", "whole")
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "b.csv").touch()
    assert (tmp_path / "kept").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "kept", "out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.csv"]


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").touch()
    with pytest.raises(InputError, match="already exists"), atomic_folder(tmp_path):
        pass
    assert (tmp_path / "thesis").exists()


def test_disk_space_is_checked_before_long_work(tmp_path: Path) -> None:
    check_disk_space(tmp_path / "new" / "a.h5", 1)
    with pytest.raises(InputError, match=r"a\.h5: .* bytes are needed"):
        check_disk_space(tmp_path / "a.h5", 1_000_000_000_000_000_000)


def test_a_linked_file_outlives_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a", "whole")
    for _ in range(2):
        link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").samefile(tmp_path / "b")

    def no_links(*paths: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    link_or_copy(tmp_path / "a", tmp_path / "c")
    (tmp_path / "a").unlink()
    assert {name: (tmp_path / name).read_text() for name in "bc"} == {"b": "whole", "c": "whole"}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_reader_names_its_file_unless_the_disk_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(InputError, match=r"a\.json: not a list, or damaged"), reading(path, "a list"):
        raise ValueError("no bracket")
    with pytest.raises(FileNotFoundError), reading(path, "a list"):
        path.read_text()
    path.write_bytes("\ufeffgrün".encode())
    assert read_utf8(path) == "grün"
    path.write_bytes("grün".encode("cp1252"))
    with pytest.raises(InputError, match=r"a\.json: .*UTF-8"):
        read_utf8(path)


def test_a_file_with_code_is_not_read_and_no_message_explains_how(tmp_path: Path) -> None:
    write_torch({"code": print}, tmp_path / "a.pt")
    with pytest.raises(InputError, match=r"more than numbers") as error:
        read_torch(tmp_path / "a.pt", "a model", "Train.")
    assert "weights_only" not in str(error.value)
