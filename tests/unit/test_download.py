"""Downloads over a real HTTP server, from files and mirrors; archives of photographs."""

import csv
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.captions import flickr8k, multi30k
from pipeline.errors import InputError
from pipeline.sources.download import download, image_id, unpack_photographs

CONTENT = b"one caption a line\n" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ROOT = Path(__file__).parents[2]


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/missing":
            self.send_error(404)
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/whole")
            self.end_headers()
        else:
            self.send_response(200)
            if self.path != "/unsized":
                self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[: 700 if self.path == "/broken" else None])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def output(tmp_path: Path) -> Path:
    path = tmp_path / "made" / "file.txt"
    path.parent.mkdir()
    path.write_text("earlier")
    return path


def _untouched(output: Path) -> bool:
    return output.read_text() == "earlier" and list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize("page", ["whole", "moved", "unsized"])
def test_a_whole_file_replaces_the_earlier_one(server: str, output: Path, page: str) -> None:
    download(f"{server}/{page}", output, DIGEST.upper(), len(CONTENT))
    assert output.read_bytes() == CONTENT
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize(
    ("page", "digest", "size", "message"),
    [
        ("missing", "", None, "404"),
        ("broken", "", None, f"700 of {len(CONTENT)} bytes"),
        ("whole", "0" * 64, 5, f"(?s)size: found {len(CONTENT)} bytes; expected 5.*sha256: found {DIGEST}"),
    ],
)
def test_a_wrong_file_leaves_the_earlier_one(
    server: str, output: Path, page: str, digest: str, size: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        download(f"{server}/{page}", output, digest, size)
    assert _untouched(output)


def test_no_server_is_an_input_error(output: Path) -> None:
    with pytest.raises(InputError, match=r"could not be fetched.*mirror"):
        download("http://127.0.0.1:1/file", output)
    assert _untouched(output)


def test_arguments_are_checked_together(output: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)url: found 'ftp://host/file'.*sha256: found 'abc'"):
        download("ftp://host/file", output, "abc")


def test_a_file_url_and_a_mirror(tmp_path: Path, output: Path) -> None:
    copy = tmp_path / "mirror" / "host.org" / "a b.txt"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT)
    download(copy.as_uri(), output, DIGEST)
    assert output.read_bytes() == CONTENT
    output.unlink()
    download("https://host.org/a%20b.txt", output, DIGEST, mirror=tmp_path / "mirror")
    assert output.read_bytes() == CONTENT


def test_a_mirror_without_the_file_names_it(tmp_path: Path, output: Path) -> None:
    with pytest.raises(InputError, match=str(tmp_path / "host.org" / "file.txt")):
        download("https://host.org/file.txt", output, mirror=tmp_path)
    assert _untouched(output)


def test_image_ids() -> None:
    names = ["1000268201_693b08cb0e.jpg", "1000268201.jpg", "2258277193_586949ec62.jpg.1", "42"]
    assert [image_id(name) for name in names] == ["1000268201", "1000268201", "2258277193", "42"]


def _archive(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, name.encode())
    return path


def test_photographs_stay_in_their_folder(tmp_path: Path) -> None:
    names = [
        "Flicker8k/12_ab.jpg",
        "../../34_cd.JPG",
        "/56.jpeg",
        "__MACOSX/Flicker8k/._12_ab.jpg",
        "notes.txt",
    ]
    output = tmp_path / "photographs"
    output.mkdir()
    (output / "old.jpg").touch()
    assert unpack_photographs(_archive(tmp_path / "a.zip", names), output) == 3
    found = {path.name: path.read_text() for path in output.iterdir()}
    assert found == {"12.jpg": names[0], "34.jpg": names[1], "56.jpg": names[2]}
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "photographs"}


def test_photographs_without_an_id_of_their_own_are_listed(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "a.zip", ["x/12_a.jpg", "y/12_b.jpg", "x/_c.jpg"])
    with pytest.raises(InputError, match=r"(?s)y/12_b.jpg: the same id as x/12_a.jpg.*x/_c.jpg"):
        unpack_photographs(archive, tmp_path / "photographs")
    assert list(tmp_path.iterdir()) == [archive]


@pytest.mark.parametrize("damage", ["cut", "flipped", "no photographs"])
def test_a_damaged_archive_leaves_the_earlier_photographs(tmp_path: Path, damage: str) -> None:
    archive = _archive(tmp_path / "a.zip", ["notes.txt"] if damage == "no photographs" else ["12_abcdef.jpg"])
    content = archive.read_bytes()
    if damage == "cut":
        archive.write_bytes(content[:-10])
    elif damage == "flipped":  # one byte of the stored photograph: its checksum is wrong
        archive.write_bytes(content[:45] + b"#" + content[46:])
    output = tmp_path / "photographs"
    output.mkdir()
    (output / "1.jpg").touch()
    with pytest.raises(InputError, match=r"a.zip"):
        unpack_photographs(archive, output)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["1.jpg", "a.zip", "photographs"]


def test_the_table_of_sources_has_what_the_readers_open() -> None:
    with open(ROOT / "workflow" / "sources.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    files = [row["file"] for row in rows]
    assert len(set(files)) == len(files)
    assert all(row["url"] == f"https://{row['file']}" for row in rows)
    assert all(
        len(row["sha256"]) == 64 for row in rows if row["dataset"] in ("multi30k", "flickr8k", "flickr8kcn")
    )
    texts = {text.path for text in flickr8k._TEXTS}
    assert texts == {row["file"] for row in rows if row["dataset"] == "flickr8kcn"}
    assert all(row["file"].startswith(multi30k.FOLDER) for row in rows if row["dataset"] == "multi30k")
