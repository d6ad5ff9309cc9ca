"""Archives of photographs: what is unpacked, what is refused, and kills."""

import io
import random
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from pipeline.common.photographs import ENDINGS
from pipeline.datasets.unpack import unpack

MODES = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}
KINDS = ["zip", *MODES]
CONTENT = random.Random(0).randbytes(70_000)  # as little compressible as photographs


def _archive(path: Path, members: Mapping[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)
        return path
    with tarfile.open(path, MODES[path.name.partition(".")[2]]) as tar:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_000_000_000
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return path


def _photographs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_photographs_stay_in_their_folder(tmp_path: Path, kind: str) -> None:
    names = ["Flicker8k/12_ab.jpg", "../../34_cd.JPG", "/etc/56.jpeg", "a/../b/COCO_000000000009.png"]
    others = ["__MACOSX/Flicker8k/._12_ab.jpg", "__MACOSX/12_ab.jpg", "Flicker8k/.hidden.jpg", "notes.txt"]
    archive = _archive(tmp_path / f"a.{kind}", {name: name.encode() + CONTENT for name in names + others})
    output = tmp_path / "made" / "photographs"
    assert unpack([archive], output) == 4
    assert _photographs(output) == {name.rsplit("/", 1)[1]: name.encode() + CONTENT for name in names}
    assert [path.name for path in output.parent.iterdir()] == ["photographs"]


def test_several_archives_fill_one_folder(tmp_path: Path) -> None:
    every = {f"a{ending}": b"a" for ending in ENDINGS}
    archives = [_archive(tmp_path / "b.zip", every), _archive(tmp_path / "c.tar", {"c.jpg": b"c"})]
    assert unpack(archives, tmp_path / "photographs") == len(ENDINGS) + 1
    assert _photographs(tmp_path / "photographs") == every | {"c.jpg": b"c"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_leaves_nothing(tmp_path: Path, kind: str) -> None:
    output = tmp_path / "photographs"
    twice = _archive(tmp_path / f"twice.{kind}", {"a/1.jpg": b"a", "b/1.jpg": b"b"})
    empty = _archive(tmp_path / f"empty.{kind}", {"notes.txt": b"a"})
    for archives, message in (
        ([twice], r"b/1\.jpg has the name of a/1\.jpg"),
        ([empty], r"no .*\.jpg"),
        ([tmp_path / "absent.zip"], "is not there"),
    ):
        with pytest.raises(InputError, match=message):
            unpack(archives, output)
    cut = _archive(
        tmp_path / f"cut.{kind}", {f"{n}.jpg": random.Random(n).randbytes(70_000) for n in range(5)}
    )
    cut.write_bytes(cut.read_bytes()[:200_000])
    with pytest.raises(InputError, match=f"cut.{kind}: not a whole archive"):
        unpack([cut], output)
    assert {path.name for path in tmp_path.iterdir()} == {twice.name, empty.name, cut.name}


def test_an_unpacking_that_was_killed_starts_over(tmp_path: Path) -> None:
    (tmp_path / ".photographs.part").mkdir()
    (tmp_path / ".photographs.part/1.jpg").write_bytes(b"half")
    unpack([_archive(tmp_path / "a.zip", {"2.jpg": b"whole"})], tmp_path / "photographs")
    assert _photographs(tmp_path / "photographs") == {"2.jpg": b"whole"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "photographs"]
