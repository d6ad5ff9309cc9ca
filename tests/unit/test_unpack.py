"""Archives of photographs: what is unpacked, and what is refused."""

import gzip
import io
import os
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.common.photographs import ENDINGS
from pipeline.datasets.unpack import unpack

KINDS = ["zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"]
MODES = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}
CONTENT = random.Random(0).randbytes(70_000)  # as little compressible as photographs


def _archive(path: Path, members: Mapping[str, bytes], format: int = tarfile.PAX_FORMAT) -> Path:
    kind = next(kind for kind in KINDS if path.name.endswith(kind))
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)
        return path
    with tarfile.open(path, MODES[kind], format=format) as tar:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def _photographs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _check_refusal(archive: Path, message: str) -> None:
    """Check that the archive is refused, and only an earlier folder remains."""
    output = archive.parent / "photographs"
    output.mkdir(exist_ok=True)
    (output / "1.jpg").write_bytes(b"earlier")
    others = {path.name for path in archive.parent.iterdir()}
    with pytest.raises(InputError, match=message):
        unpack([archive], output)
    assert _photographs(output) == {"1.jpg": b"earlier"}
    assert {path.name for path in archive.parent.iterdir()} == others


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_photograph_unpacked_again_is_the_same_to_extraction(tmp_path: Path, kind: str) -> None:
    """A different photograph of the same size and time is not."""
    members = {"1.jpg": b"one", "2.jpg": b"two", "3.jpg": b"owt"}
    archive, output = _archive(tmp_path / f"a.{kind}", members), tmp_path / "photographs"
    found = []
    for _ in range(2):
        unpack([archive], output)
        found.append([(output / name).stat().st_mtime_ns for name in members])
        shutil.rmtree(output)
    assert found[0] == found[1]
    assert len(set(found[0])) == 3


def test_an_impossible_date_is_accepted(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        member = zipfile.ZipInfo("1.jpg")
        member.date_time = (1980, 0, 0, 0, 0, 0)
        file.writestr(member, b"one")
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        for name, changed in (("2.jpg", 10**12), ("3.jpg", -5)):
            later = tarfile.TarInfo(name)
            later.mtime = changed
            tar.addfile(later)
    unpack([tmp_path / "a.zip", tmp_path / "b.tar"], tmp_path / "photographs")
    assert set(_photographs(tmp_path / "photographs")) == {"1.jpg", "2.jpg", "3.jpg"}


@pytest.mark.parametrize("kind", KINDS)
def test_photographs_stay_in_their_folder(tmp_path: Path, kind: str) -> None:
    names = [
        "Flicker8k/12_ab.jpg",
        "../../34_cd.JPG",
        "/etc/56.jpeg",
        "a/../b/COCO_train2014_000000000009.png",
        "__MACOSX/Flicker8k/._12_ab.jpg",
        "__MACOSX/12_ab.jpg",
        "Flicker8k/.hidden.jpg",
        "notes.txt",
    ]
    archive = _archive(tmp_path / f"a.{kind}", {name: name.encode() + CONTENT for name in names})
    output = tmp_path / "made" / "photographs"
    assert unpack([archive], output) == 4
    expected = {name.rsplit("/", 1)[1]: name.encode() + CONTENT for name in names[:4]}
    assert _photographs(output) == expected
    assert [path.name for path in output.parent.iterdir()] == ["photographs"]


def test_windows_separators_are_folders(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.zip", {"..\\..\\photos\\1.jpg": b"1"})
    unpack([archive], tmp_path / "photographs")
    assert _photographs(tmp_path / "photographs") == {"1.jpg": b"1"}


def test_several_archives_fill_one_folder_that_replaces_the_earlier(tmp_path: Path) -> None:
    first = _archive(tmp_path / "train.zip", {"train/1.jpg": b"1"})
    second = _archive(tmp_path / "val.tar.gz", {"val/2.jpg": b"2"})
    output = tmp_path / "photographs"
    output.mkdir()
    (output / "old.jpg").touch()
    assert unpack([first, second], output) == 2
    assert _photographs(output) == {"1.jpg": b"1", "2.jpg": b"2"}
    assert len(list(tmp_path.iterdir())) == 3


def test_the_kind_is_read_from_the_content_not_from_the_name(tmp_path: Path) -> None:
    for kind in KINDS:
        archive = _archive(tmp_path / f"a.{kind}", {"1.jpg": CONTENT}).rename(tmp_path / "flickr30k")
        assert unpack([archive], tmp_path / "photographs") == 1


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_every_tar_format(tmp_path: Path, format: int) -> None:
    name = f"{'folder/' * 12}{'x' * 90}.jpg"
    archive = _archive(tmp_path / "a.tar", {name: CONTENT}, format)
    unpack([archive], tmp_path / "photographs")
    assert _photographs(tmp_path / "photographs") == {f"{'x' * 90}.jpg": CONTENT}


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    zipped = _archive(tmp_path / "a.zip", {"caf#.jpg": b"zip"})
    zipped.write_bytes(zipped.read_bytes().replace(b"caf#.jpg", b"caf\x82.jpg"))  # é in code page 437
    name = b"caf\xe9.jpg".decode("utf-8", "surrogateescape")  # é in Latin-1
    tarred = _archive(tmp_path / "a.tar", {name: b"tar"}, tarfile.GNU_FORMAT)
    unpack([zipped, tarred], tmp_path / "photographs")
    folder = os.fsencode(tmp_path / "photographs")
    found = {name: Path(os.fsdecode(os.path.join(folder, name))).read_text() for name in os.listdir(folder)}
    assert found == {"café.jpg".encode(): "zip", b"caf\xe9.jpg": "tar"}


# Refused


@pytest.mark.parametrize("kind", KINDS)
def test_photographs_with_the_same_name_are_listed(tmp_path: Path, kind: str) -> None:
    archive = _archive(
        tmp_path / f"a.{kind}", {"x/1.jpg": b"1", "y/1.jpg": b"2", "x/2.jpg": b"1", "z/2.jpg": b""}
    )
    _check_refusal(archive, r"(?s)y/1.jpg: the same name as x/1.jpg.*z/2.jpg: the same name as x/2.jpg")


def test_photographs_with_the_same_name_in_two_archives_are_listed(tmp_path: Path) -> None:
    archives = [_archive(tmp_path / f"{name}.zip", {f"{name}/1.jpg": b"1"}) for name in "ab"]
    with pytest.raises(InputError, match=r"b\.zip, b/1\.jpg: the same name as a/1\.jpg"):
        unpack(archives, tmp_path / "photographs")


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_without_photographs_is_refused(tmp_path: Path, kind: str) -> None:
    _check_refusal(_archive(tmp_path / f"a.{kind}", {"notes.txt": b""}), r"no .avif, .bmp, .*file")


def test_an_archive_may_have_every_kind_of_photograph_that_is_found(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.zip", {f"x/{ending[1:]}{ending}": b"1" for ending in ENDINGS})
    unpack([archive], tmp_path / "photographs")
    assert {path.suffix for path in (tmp_path / "photographs").iterdir()} >= set(ENDINGS)


def test_a_missing_archive_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.zip: the archive of photographs is not there"):
        unpack([tmp_path / "none.zip"], tmp_path / "photographs")


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"PK\x03\x04rest", b"\x1f\x8b", b"<html>" * 200, b"BZh9", bytes(600)]
)
def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    _check_refusal(tmp_path / "a.zip", r"a.zip")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"Rar!\x1a\x07\x01\x00" + bytes(600), "a RAR archive"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(30), "a 7z archive"),
        (b"\x28\xb5\x2f\xfd" + bytes(600), "a Zstandard file"),
        (gzip.compress(b"%PDF-1.4\n" + bytes(600), mtime=0), "a PDF"),
        (b"<!DOCTYPE html>" * 99, "a web page"),
        (b"text" * 200, r"no archive \(invalid header\)"),
    ],
)
def test_another_kind_of_file_is_named_with_what_to_do(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    _check_refusal(tmp_path / "a.zip", f"found {kind}, expected .zip, .tar, .* Unpack it and give the folder")


@pytest.mark.parametrize("type", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, type: bytes) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        member = tarfile.TarInfo("1.jpg")
        member.type, member.linkname = type, "/etc/passwd"
        tar.addfile(member)
    _check_refusal(tmp_path / "a.tar", "1.jpg: a link or a device; expected a file")


def test_links_in_zip_archives_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        link = zipfile.ZipInfo("1.jpg")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        file.writestr(link, "/etc/passwd")
    _check_refusal(tmp_path / "a.zip", "1.jpg: a link or a device; expected a file")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_disk_that_is_too_small_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    members = {f"{number}.jpg": bytes([number]) * 100 for number in range(1, 6)}
    archive, output = _archive(tmp_path / f"a.{kind}", members), tmp_path / "photographs"
    partial, usage = tmp_path / ".photographs.part", shutil.disk_usage(tmp_path)

    def filled_by_others(_: Path) -> object:
        return usage._replace(free=1000 if len(list(partial.iterdir())) < 3 else 50)

    monkeypatch.setattr(shutil, "disk_usage", filled_by_others)
    counts = []
    for _ in range(2):
        with pytest.raises(InputError, match=r"need \d+ more bytes, \d+ are free; make room.*is kept"):
            unpack([archive], output)
        counts.append(len(list(partial.iterdir())))
    assert counts == [3, 3]
    monkeypatch.undo()
    assert unpack([archive], output) == 5
    assert _photographs(output) == members


def test_names_too_long_for_a_file_are_listed(tmp_path: Path) -> None:
    _check_refusal(_archive(tmp_path / "a.tar", {f"{'x' * 300}.jpg": b""}), "longer than 255 bytes")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["1.jpg", "notes.txt"])
def test_a_bomb_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    if kind == "tar":
        pytest.skip("plain tar does not compress")
    _check_refusal(
        _archive(tmp_path / f"a.{kind}", {"0.jpg": b"", name: bytes(64 << 20)}), "never unpack to over"
    )


def test_a_small_picture_of_one_colour_is_not_a_bomb(tmp_path: Path) -> None:
    assert unpack([_archive(tmp_path / "a.zip", {"1.png": bytes(1 << 20)})], tmp_path / "photographs") == 1


def test_no_more_than_the_declared_size_is_written(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.zip", {"1.jpg": CONTENT})
    content = bytearray(archive.read_bytes())
    at = content.index(b"PK\x01\x02") + 24  # the declared size, in the directory
    content[at : at + 4] = struct.pack("<I", 1000)
    archive.write_bytes(content)
    _check_refusal(archive, "not a sound archive")


def test_a_zip_that_the_disk_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "small.zip", {f"{number}.jpg": b"1" for number in range(500)})
    content = bytearray(archive.read_bytes())
    for match in list(re.finditer(b"PK\x01\x02", content)):
        content[match.start() + 24 : match.start() + 28] = struct.pack("<I", 0xFFFFFFF0)
    large = tmp_path / "a.zip"
    with open(large, "wb") as file:  # a sparse beginning, so that two terabytes are not refused as a bomb
        file.write(b"PK")
        file.seek(1 << 40)
        file.write(content)
    _check_refusal(large, r"need 2,147,483,640,000 more bytes, [\d,]+ are free")


def test_a_tar_that_the_disk_cannot_hold_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("1.jpg")
    member.size = 1 << 42
    with open(tmp_path / "a.tar", "wb") as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT))
        file.truncate(1 << 42)
    _check_refusal(tmp_path / "a.tar", r"need 4,398,046,511,104 more bytes, [\d,]+ are free")


# Damaged

MEMBERS = {f"photos/{number}.jpg": CONTENT[: 300 * number] for number in range(8)}
WHOLE = {f"{number}.jpg": CONTENT[: 300 * number] for number in range(8)}


def _unpacked_or_refused(folder: Path, kind: str, content: bytes) -> dict[str, bytes] | None:
    (folder / f"a.{kind}").write_bytes(content)
    try:
        unpack([folder / f"a.{kind}"], folder / "photographs")
    except InputError:
        assert [path.name for path in folder.iterdir()] == [f"a.{kind}"]
        return None
    return _photographs(folder / "photographs")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_truncated_archive_never_loses_a_photograph_silently(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    content = _archive(folder / f"a.{kind}", MEMBERS).read_bytes()
    blocks = st.integers(0, len(content) // 512 - 1).map(lambda block: 512 * block)
    cut = data.draw(st.integers(0, len(content) - 1) | blocks)
    found = _unpacked_or_refused(folder, kind, content[:cut])
    assert found is None or (kind == "tar" and found == WHOLE)  # cut in the padding behind the end


@pytest.mark.parametrize("kind", ["tar.gz", "tar.bz2", "tar.xz"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_flipped_bit_never_changes_a_photograph(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("flipped")
    content = bytearray(_archive(folder / f"a.{kind}", MEMBERS).read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert _unpacked_or_refused(folder, kind, bytes(content)) in (None, WHOLE)


def test_a_flipped_photograph_in_a_zip_is_refused(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.zip", {"1.jpg": CONTENT})
    content = bytearray(archive.read_bytes())
    content[20_000] ^= 1
    archive.write_bytes(content)
    _check_refusal(archive, "not a sound archive")


def test_a_damaged_header_in_a_tar_does_not_count_as_its_end(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.tar", {"1.jpg": CONTENT[:512], "2.jpg": CONTENT[:512]})
    content = bytearray(archive.read_bytes())
    content[1024] ^= 1  # in the second header
    archive.write_bytes(content)
    _check_refusal(archive, "breaks off")


# Killed, and large


def _command(archive: Path, output: Path) -> list[str]:
    return [sys.executable, "-m", "pipeline", "unpack", "--archive", str(archive), "--output", str(output)]


def _kill_half_way(archive: Path, output: Path, count: int) -> dict[str, int]:
    """Kill the command once it has written `count` photographs; return their names and inodes."""
    part = output.with_name(f".{output.name}.part")
    with subprocess.Popen(_command(archive, output), stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not part.exists() or len(os.listdir(part)) < count:
            assert time.monotonic() < until and process.poll() is None
        process.send_signal(signal.SIGKILL)
    return {entry.name: entry.inode() for entry in os.scandir(part) if not entry.name.startswith(".")}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_killed_call_is_resumed(tmp_path: Path, kind: str) -> None:
    members = {f"{number:05d}.jpg": b"%05d" % number + CONTENT[:2000] for number in range(3000)}
    archive = _archive(tmp_path / f"a.{kind}", members)
    output = tmp_path / "photographs"
    output.mkdir()
    (output / "1.jpg").write_bytes(b"earlier")
    kept = _kill_half_way(archive, output, 200)
    assert 200 - 1 <= len(kept) < 3000
    assert _photographs(output) == {"1.jpg": b"earlier"}
    subprocess.run(_command(archive, output), check=True, stderr=subprocess.DEVNULL)
    assert _photographs(output) == members
    inodes = {entry.name: entry.inode() for entry in os.scandir(output)}
    assert kept.items() <= inodes.items()  # not written again
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{kind}", "photographs"]


def test_a_full_disk_keeps_what_is_unpacked(tmp_path: Path) -> None:
    members = {"1.jpg": CONTENT[:1000], "2.jpg": CONTENT}
    archive = _archive(tmp_path / "a.zip", members)
    output = tmp_path / "photographs"
    limited = (
        f"ulimit -f 20; exec {shlex.join(_command(archive, output))}"  # blocks: files end before the second
    )
    result = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert result.returncode == 1
    assert re.search(r"error: .*photographs.*cannot be written.*File too large. What has been", result.stderr)
    assert _photographs(tmp_path / ".photographs.part").keys() >= {"1.jpg"}
    assert unpack([archive], output) == 2
    assert _photographs(output) == members


@pytest.mark.extended
def test_another_archive_starts_over(tmp_path: Path) -> None:
    members = {f"{number:05d}.jpg": CONTENT[:2000] for number in range(3000)}
    archive = _archive(tmp_path / "a.zip", members)
    output = tmp_path / "photographs"
    _kill_half_way(archive, output, 200)
    changed = {name: content[::-1] for name, content in members.items()}
    _archive(archive, changed)
    os.utime(archive, ns=(1, 1))
    assert unpack([archive], output) == 3000
    assert _photographs(output) == changed


def test_two_calls_never_write_one_folder(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.zip", {f"{number:05d}.jpg": CONTENT[:2000] for number in range(3000)})
    output = tmp_path / "photographs"
    with subprocess.Popen(_command(archive, output), stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / ".photographs.part").exists():
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(InputError, match="another process is writing it"):
                unpack([archive], output)
        finally:
            process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    assert len(os.listdir(output)) == 3000


@pytest.mark.extended
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_many_photographs_take_little_memory_and_few_lines(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    members = {f"folder/COCO_train2014_{number:012d}.jpg": CONTENT[:10] for number in range(5000)}
    archive = _archive(tmp_path / f"a.{kind}", members)
    tracemalloc.start()
    with caplog.at_level("INFO", "pipeline"):
        unpack([archive], tmp_path / "photographs")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caplog.messages[-1].endswith("5,000 photographs")
    assert len(caplog.messages) < 20  # lines of progress
    assert peak < 5000 * 1500 + (8 << 20)
