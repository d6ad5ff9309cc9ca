"""Readers of files and answers from anywhere: input is read correctly, or refused with a message.

Inputs are whole files with some bytes changed, cut or put in, and bytes drawn at random: 40 for each reader,
or as many as FUZZED_INPUTS says. A reader may use no more than MEMORY in addition to what Python has loaded.
"""

import contextlib
import gzip
import io
import json
import os
import resource
import sqlite3
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import requests
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pipeline.common.errors import InputError
from pipeline.datasets.sources.custom import read_own
from pipeline.datasets.split import listed_images, read_split
from pipeline.datasets.unpack import unpack
from pipeline.images.crops import UnreadableImage, read_image
from pipeline.images.store import read_store
from pipeline.settings import command_line
from pipeline.training.checkpoint import load_checkpoint, save_checkpoint
from pipeline.translation.cache import Cache, Model
from pipeline.translation.cached_translator import EngineStopped
from pipeline.translation.exchange import export_translations, import_translations
from pipeline.translation.services import ServiceClient
from pipeline.translation.session import ServiceUnavailable, TextRefused
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import read_vectors

INPUTS = int(os.environ.get("FUZZED_INPUTS", "40"))
MEMORY = 1 << 30  # bytes
MODEL = Model("google", "1", "en", "de")
WORDS = WordSettings(vectors="file", dimension=3)


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """Limit memory, so that more raises a MemoryError, with which no reader may end."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def captions() -> bytes:
    rows = [f'{n}.jpg,en,"a {n}, dog",train\n{n}.jpg,de,ein Hund,train\n' for n in range(4)]
    return ("image,language,caption,split\n" + "".join(rows) + "v,en,a,val\nt,en,b,test\n").encode()


def split() -> bytes:
    return b'image,split\na,train\nb,val\n"c ""d""",test\n'


def configuration() -> bytes:
    return b"scale: demo\nseeds: [0, 1]\nimages: {list: null}\ntables:\n  a: &x {rows: []}\n  b: *x\n"


def features() -> bytes:
    file = io.BytesIO()
    with h5py.File(file, "w") as store:
        store["features"] = np.arange(12, dtype=np.float32).reshape(4, 3)
        store.create_dataset("image", data=["a", "b", "c", "d"], dtype=h5py.string_dtype())
        store.attrs["backbone"] = "ours"
    return file.getvalue()


def archive(kind: str) -> bytes:
    file = io.BytesIO()
    members = {"x/a.jpg": b"1234" * 20, "b.png": bytes(range(200)), "read.me": b"text"}
    if kind == "zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
    else:
        with tarfile.open(fileobj=file, mode="w:gz") as packed_tar:
            for name, content in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                packed_tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def photograph() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "JPEG")
    return file.getvalue()


def checkpoint() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.pt")
        save_checkpoint(path, "f", {"weights": torch.arange(20.0), "epoch": 3})
        return path.read_bytes()


def cache() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sqlite")
        made = Cache(path)
        made.add(MODEL, {f"a dog {n}": f"ein Hund {n}" for n in range(30)})
        made.close()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        return path.read_bytes()


def vectors() -> bytes:
    return gzip.compress(b"4 3\n" + b"".join(b"w%d 0.5 1 2\n" % n for n in range(4)))


def translations() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Cache(Path(folder, "c.sqlite"))
        made.add(MODEL, {f"a dog {n}": f"ein Hund {n}" for n in range(30)})
        made.close()
        export_translations(Path(folder, "c.sqlite"), Path(folder, "t.csv.gz"))
        return Path(folder, "t.csv.gz").read_bytes()


def read_configuration(path: Path) -> None:
    try:
        command_line.check(["--configfile", str(path)])
    except SystemExit as end:
        raise InputError(str(end.code)) from None


def read_checkpoint(path: Path) -> None:
    state = load_checkpoint(path, "f")
    assert state is None or (state["epoch"] == 3 and torch.equal(state["weights"], torch.arange(20.0)))


def read_cache(path: Path) -> None:
    opened = Cache(path)
    try:
        for text, answer in opened.answers(MODEL, [f"a dog {n}" for n in range(30)]).items():
            assert answer == text.replace("a dog", "ein Hund")
        list(opened.rows())
        opened.add(MODEL, {"a cat": "eine Katze"})
    finally:
        opened.close()


def read_photograph(path: Path) -> None:
    try:
        read_image(path)
    except UnreadableImage as error:
        raise InputError(str(error)) from None


def read_archive(path: Path) -> None:
    unpack([path], path.parent / "out")


READERS: dict[str, tuple[Callable[[], bytes], Callable[[Path], object], str]] = {
    "captions": (captions, read_own, "c.csv"),
    "split": (split, read_split, "s.csv"),
    "list": (lambda: b"image,x\na.jpg,1\nb,2\n", listed_images, "l.csv"),
    "configuration": (configuration, read_configuration, "c.yaml"),
    "features": (features, read_store, "f.h5"),
    "zip": (lambda: archive("zip"), read_archive, "a.zip"),
    "tar": (lambda: archive("tar"), read_archive, "a.tar.gz"),
    "photograph": (photograph, read_photograph, "a.jpg"),
    "checkpoint": (checkpoint, read_checkpoint, "c.pt"),
    "cache": (cache, read_cache, "c.sqlite"),
    "vectors": (vectors, lambda path: read_vectors(path, ["w1", "w3"], WORDS), "v.vec.gz"),
    "translations": (
        translations,
        lambda path: import_translations(path, path.with_name("c.sqlite")),
        "t.csv.gz",
    ),
}
STEPS = ["set", "flip", "cut", "put", "end"]
_WHOLE: dict[str, bytes] = {}


def changed_bytes(whole: bytes) -> st.SearchStrategy[bytes]:
    """A whole file with up to four bytes changed, some cut out or put in; or any bytes."""
    place = st.integers(0, max(0, len(whole) - 1))
    step = st.tuples(st.sampled_from(STEPS), place, st.binary(min_size=1, max_size=4))

    def apply(steps: list[tuple[str, int, bytes]]) -> bytes:
        content = bytearray(whole)
        for kind, at, piece in steps:
            if kind == "set":
                content[at : at + len(piece)] = piece
            elif kind == "flip" and at < len(content):
                content[at] ^= 1 << piece[0] % 8
            elif kind == "cut":
                del content[at : at + piece[0]]
            elif kind == "put":
                content[at:at] = piece
            else:
                del content[at:]
        return bytes(content)

    return st.lists(step, min_size=1, max_size=4).map(apply) | st.binary(max_size=300)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_or_refuses(name: str) -> None:
    make, read, file = READERS[name]
    whole = _WHOLE.setdefault(name, make())

    @settings(max_examples=INPUTS, suppress_health_check=list(HealthCheck), database=None)
    @given(content=changed_bytes(whole))
    def try_reading(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.write_bytes(content)
            try:
                read(path)
            except InputError as error:
                assert str(error).strip()
                assert "Traceback" not in str(error) and "weights_only" not in str(error)

    try_reading()


@pytest.mark.parametrize("name", READERS)
def test_an_unchanged_file_is_read(name: str, tmp_path: Path) -> None:
    make, read, file = READERS[name]
    (tmp_path / file).write_bytes(make())
    read(tmp_path / file)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["responseData", "translatedText", "responseStatus", "matches", "error"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@contextlib.contextmanager
def answering(body: bytes, status: int, retry: str) -> Iterator[None]:
    """Give every request this answer."""

    def send(adapter: Any, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        response = requests.Response()
        response.status_code, response.request, response.url = status, request, request.url or ""
        response.raw = io.BytesIO(body)
        response.headers["Retry-After"] = retry
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests.adapters.HTTPAdapter, "send", send)
        yield


@pytest.mark.parametrize("service", ["google", "mymemory"])
def test_any_answer_of_a_service_is_a_translation_or_refused(service: str) -> None:
    @settings(max_examples=INPUTS, suppress_health_check=list(HealthCheck), database=None)
    @given(
        body=JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=100),
        status=st.sampled_from([200, 200, 200, 204, 302, 400, 403, 429, 500, 503]),
        retry=st.text(max_size=12) | st.integers().map(str),
    )
    def try_reading(body: bytes, status: int, retry: str) -> None:
        with answering(body, status, retry):
            try:
                answer = ServiceClient(service, "en", "de")("A dog.")
            except (ServiceUnavailable, TextRefused, EngineStopped, InputError) as error:
                assert getattr(error, "retry_after", 0.0) <= 86_400
            else:
                assert isinstance(answer, str)

    try_reading()


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.datasets.published import PublishedFiles

    monkeypatch.setattr("pipeline.datasets.published._MOST", 1 << 20)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(4 << 20)))
    sources = PublishedFiles(tmp_path)
    assert sources.lines("a.gz") == []
    assert "holds more than 1 MB" in sources.mistakes[0]
