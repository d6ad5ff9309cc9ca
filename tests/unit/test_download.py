"""Downloads from a real HTTP server, and from mirrors: whole, resumed or refused."""

import csv
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Request, Troubles, serving

from pipeline.common.errors import InputError
from pipeline.datasets.download import download
from pipeline.datasets.flickr8k import image_id

CONTENT = b"".join(b"%06d: one caption a line\n" % number for number in range(40_000))  # 1.08 MB
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FILE = "host.org/file.txt"
ROOT = Path(__file__).parents[2]


class Web:
    """The server, and one download from it."""

    def __init__(self, url: str, folder: Path, troubles: Troubles):
        self.url, self.folder, self.troubles = f"{url}/{FILE}", folder, troubles
        self.output = folder.parent / "made" / "file.txt"
        self.part = self.output.with_name(".file.txt.part")

    def put(self, content: bytes = CONTENT, file: str = FILE) -> None:
        (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / file).write_bytes(content)

    def download(self, *urls: str, digest: str = DIGEST, **options: Any) -> bytes:
        download(urls or [self.url], FILE, digest, self.output, **options)
        return self.output.read_bytes()

    def left_over(self) -> list[str]:
        return sorted(path.name for path in self.output.parent.glob("*") if path != self.output)


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    troubles = Troubles()
    with serving(tmp_path / "web", troubles) as url:
        web = Web(url, tmp_path / "web", troubles)
        web.put()
        yield web


def test_a_whole_file_replaces_the_earlier_one(web: Web) -> None:
    web.output.parent.mkdir()
    web.output.write_text("earlier")
    assert web.download(size=len(CONTENT)) == CONTENT
    assert web.left_over() == []
    assert web.troubles.asked == [Request(FILE, "", 200)]


def test_a_transfer_that_breaks_off_is_continued(web: Web) -> None:
    web.troubles.cuts = [1 << 17, 0, 1 << 18]
    assert web.download() == CONTENT
    ranges = [(request.range, request.status) for request in web.troubles.asked]
    assert ranges == [("", 200), ("bytes=131072-", 206), ("bytes=131072-", 206), ("bytes=393216-", 206)]


def test_without_progress_it_ends_and_the_next_call_continues(web: Web) -> None:
    web.troubles.cuts = [1 << 16, *[0] * 20]
    with pytest.raises(InputError, match=f"{FILE}: could not be fetched"):
        web.download()
    assert web.part.stat().st_size == 1 << 16
    web.troubles.cuts, web.troubles.asked[:] = [], []
    assert web.download() == CONTENT
    assert web.troubles.asked == [Request(FILE, "bytes=65536-", 206)]


def test_a_complete_part_is_only_verified(web: Web) -> None:
    web.part.parent.mkdir()
    for size, requests in ((len(CONTENT), []), (None, [Request(FILE, f"bytes={len(CONTENT)}-", 416)])):
        web.part.write_bytes(CONTENT)
        assert web.download(size=size) == CONTENT
        assert web.troubles.asked == requests


def test_a_file_that_has_changed_since_starts_over(web: Web) -> None:
    web.part.parent.mkdir()
    web.part.write_bytes(b"an older version")
    os.utime(web.part, (0, 0))
    assert web.download() == CONTENT
    assert [request.status for request in web.troubles.asked] == [412, 200]


@pytest.mark.parametrize("status", [429, 503])
def test_temporary_answers_are_asked_again(web: Web, status: int) -> None:
    web.troubles.statuses = [status, status]
    assert web.download() == CONTENT


def test_the_next_url_is_tried_and_the_message_has_what_each_answered(web: Web) -> None:
    assert web.download(f"{web.url}.old", web.url) == CONTENT
    with pytest.raises(InputError, match=r"(?s)gone: 404 .*\n.*//127\.0\.0\.1:1/.*refused"):
        web.download(f"{web.url}.gone", "http://127.0.0.1:1/file")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONTENT + b"!", r"found \d+ bytes; expected \d+; found sha256"),
        (CONTENT[:-1] + b"!", "found sha256"),
        (b" <!DOCTYPE html><title>Please log in", "a web page"),
    ],
)
def test_another_file_is_refused_and_nothing_of_it_kept(web: Web, content: bytes, message: str) -> None:
    web.put(content)
    with pytest.raises(InputError, match=message):
        web.download(size=len(CONTENT))
    with pytest.raises(InputError, match=r"web page|sha256"):
        web.download()
    assert web.left_over() == []


def test_a_full_disk_is_noticed_before_anything_is_received(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(web.folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(InputError, match=r"bytes are needed, 1,000 are free"):
        web.download()


@pytest.mark.parametrize("kind", ["folder", "server"])
def test_only_the_mirror_is_asked(web: Web, kind: str) -> None:
    mirror = str(web.folder) if kind == "folder" else web.url.removesuffix(FILE)
    assert web.download("http://127.0.0.1:1/", mirror=mirror) == CONTENT
    shutil.rmtree(web.folder / "host.org")
    with pytest.raises((InputError, OSError), match=r"file\.txt"):
        web.download(mirror=mirror)


def test_the_digest_of_first_use_is_expected_from_then_on(web: Web, tmp_path: Path) -> None:
    lock = tmp_path / "sources.lock"
    of_another_user = tmp_path / "none/sources.lock"  # cannot be written
    assert web.download(digest="first use", lock=of_another_user) == CONTENT
    first_use: dict[str, Any] = {"digest": "first use", "lock": lock}
    for _ in range(2):
        assert web.download(**first_use) == CONTENT
        assert lock.read_text() == f"{DIGEST}  {FILE}\n"
    web.put(CONTENT + b"!")
    with pytest.raises(InputError, match=r"(?s)sources\.lock.*sha256"):
        web.download(**first_use)
    lock.write_text("a digest\n")
    with pytest.raises(InputError, match=r"sources\.lock: not a list of digests"):
        web.download(**first_use)


def test_downloads_that_end_together_lose_no_line_of_the_lock_file(web: Web, tmp_path: Path) -> None:
    lock, files = tmp_path / "sources.lock", [f"host.org/{number}.txt" for number in range(20)]

    def fetch(file: str) -> None:
        web.put(file.encode(), file)
        download([web.url.replace(FILE, file)], file, "first use", tmp_path / file, lock=lock)

    threads = [threading.Thread(target=fetch, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [f"{hashlib.sha256(file.encode()).hexdigest()}  {file}" for file in files]
    assert sorted(lock.read_text().splitlines()) == sorted(lines)


def test_a_download_killed_again_and_again_ends_in_the_same_bytes(tmp_path: Path) -> None:
    output, chosen = tmp_path / "made" / "file.txt", random.Random(0)
    part = output.with_name(".file.txt.part")
    with serving(tmp_path / "web", Troubles(wait=0.05)) as url:
        web = Web(url, tmp_path / "web", Troubles())
        web.put(CONTENT * 3)
        digest = hashlib.sha256(CONTENT * 3).hexdigest()
        command = [sys.executable, "-m", "pipeline", "download", "--url", web.url, "--file", FILE]
        command += ["--sha256", digest, "--output", str(output)]
        for _ in range(2):
            before = part.stat().st_size if part.exists() else 0
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
                while not part.exists() or part.stat().st_size <= before:
                    assert process.poll() is None
                    time.sleep(0.01)
                time.sleep(chosen.uniform(0, 0.5))
                process.kill()
            assert not output.exists() and part.stat().st_size > before
        assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    assert output.read_bytes() == CONTENT * 3
    assert [path.name for path in output.parent.iterdir()] == ["file.txt"]


# The table


def test_image_ids() -> None:
    names = ["1000268201_693b08cb0e.jpg", "1000268201.jpg", "2258277193_586949ec62.jpg.1", "42"]
    assert [image_id(name) for name in names] == ["1000268201", "1000268201", "2258277193", "42"]


def test_the_table_of_sources_is_sound() -> None:
    with open(ROOT / "workflow" / "sources.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    files = [row["file"] for row in rows]
    assert len(set(files)) == len(files)
    for row in rows:
        assert None not in row.values(), row
        assert row["access"] in ("public", "on request")
        assert re.fullmatch(r"[0-9a-f]{64}|first use", row["sha256"])
        assert re.fullmatch(r"\d*", row["bytes"])
        assert row["licence"]
        assert all(re.fullmatch(r"https?://\S+", url) for url in row["url"].split())
        if row["access"] == "public":
            assert not row["url"] or row["url"].split()[0].split("://")[1] == row["file"]
        else:
            assert row["file"].startswith("on-request/")


def test_every_file_of_the_mirror_is_as_the_table_says(tmp_path: Path) -> None:
    mirror = os.environ.get("MULTILINGUAL_MIRROR")
    if not mirror:
        pytest.skip("MULTILINGUAL_MIRROR is not set")
    with open(ROOT / "workflow" / "sources.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (Path(mirror) / row["file"]).exists()]
    assert len(rows) > 60
    for row in rows:
        size = int(row["bytes"])
        download([], row["file"], row["sha256"], tmp_path / "file", size, mirror)
