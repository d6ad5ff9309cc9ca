"""Files that a stage reads: no pipes or devices, and unchanged from its beginning to its end."""

import os
import socket
from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file, write_digest
from pipeline.common.folders import atomic_folder
from pipeline.common.inputs import check_paths, watch_inputs


def edit(path: Path, content: str = "new") -> None:
    path.write_text(content)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("old")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    os.replace(other, path)


@pytest.mark.parametrize("change", [edit, replace, Path.unlink])
def test_a_users_file_that_changes_while_it_is_read_leaves_no_output(change: object, tmp_path: Path) -> None:
    path, output = tmp_path / "captions.csv", tmp_path / "out.csv"
    path.write_text("old")
    output.write_text("earlier")
    with pytest.raises(InputError, match=r"captions\.csv: changed while it was read"), watch_inputs():
        content = require_file(path, "the table", "").read_text()
        change(path)  # type: ignore[operator]
        with atomic_write(output) as temporary:
            temporary.write_text(content)
    assert output.read_text() == "earlier"
    assert [file.name for file in tmp_path.iterdir() if file.name.endswith(".part")] == []


def test_a_change_after_the_last_output_is_reported_too(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("old")
    with pytest.raises(InputError, match="changed while it was read"), watch_inputs():
        require_file(path, "the table", "")
        with atomic_write(tmp_path / "out.csv") as temporary:
            temporary.write_text("old")
        edit(path)


def test_a_folder_that_a_stage_reads_back_may_move_to_its_place(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("old")
    for output in ("first", "second"):
        with watch_inputs():
            require_file(path, "the table", "")
            with atomic_folder(tmp_path / output) as folder:
                (folder / "model").write_text("new")
                require_file(folder / "model", "the model", "")
    assert (tmp_path / "second/model").read_text() == "new"
    with pytest.raises(InputError, match=r"captions\.csv: changed while it was read"), watch_inputs():
        require_file(path, "the table", "")
        with atomic_folder(tmp_path / "third"):
            edit(path)
    assert not (tmp_path / "third").exists()


def test_what_may_change_is_not_watched(tmp_path: Path) -> None:
    """A cache, files of this project, which have a digest, and files that are not arguments."""
    cache, own, other = (tmp_path / name for name in ("cache", "own", "other"))
    for path in (cache, own, other):
        path.write_text("old")
    write_digest(own)
    with watch_inputs():
        require_file(cache, "the cache", "", constant=False)
        require_file(own, "the model", "")
        for path in (cache, own, other):
            edit(path)
    require_file(cache, "outside of a stage nothing is watched", "")
    edit(cache)


def test_pipes_and_devices_are_refused_in_every_kind_of_argument(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path, kind in [
            (pipe, "a pipe"),
            (link, "a pipe"),
            (Path("/dev/zero"), "a device"),
            (Path("/dev/null"), "a device"),
            (tmp_path / "socket", "a socket"),
        ]:
            for values in ([path], [[tmp_path, path]], [{"name": path}], [{"name": [path]}]):
                with pytest.raises(InputError, match=f"{path}: {kind}, expected a file"):
                    check_paths(values)
            with pytest.raises(InputError, match=f"{path}: {kind}"):
                require_file(path, "the table", "")
    check_paths([tmp_path, tmp_path / "none", "text", 3, None, True])


def test_an_output_never_takes_the_place_of_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    with pytest.raises(InputError, match="out: a pipe"), atomic_write(tmp_path / "out"):
        pass
    assert (tmp_path / "out").is_fifo()
