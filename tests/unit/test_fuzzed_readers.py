"""Changed bytes in files from elsewhere: each reader reads them, or ends with a message."""

import gzip
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import torch
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pipeline.common.errors import error_message
from pipeline.common.yaml_files import read_yaml
from pipeline.datasets.sources.custom import read_own
from pipeline.datasets.split import read_split
from pipeline.datasets.unpack import unpack
from pipeline.images.crops import UnreadableImage, read_image
from pipeline.images.store import read_features
from pipeline.training.loop import Job
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import read_vectors

EXAMPLES = int(os.environ.get("FUZZED_INPUTS", "30"))
CAPTIONS = 'image,language,caption,split\na.jpg,en,"a, dog",train\nb,en,b,val\nc,en,c,test\n'


def write_features(path: Path) -> None:
    with h5py.File(path, "w") as store:
        store["features"] = np.arange(12, dtype=np.float32).reshape(4, 3)
        store.create_dataset("image", data=["a", "b", "c", "d"], dtype=h5py.string_dtype())


def write_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x/a.jpg", b"1234" * 20)


READERS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "a.csv": (lambda path: path.write_text(CAPTIONS), read_own),
    "split.csv": (lambda path: path.write_text('image,split\na,train\nb,val\n"c",test\n'), read_split),
    "a.yaml": (lambda path: path.write_text(yaml.dump({"seeds": [0, 1], "images": {"a": None}})), read_yaml),
    "a.h5": (write_features, lambda path: read_features(path, ["a", "d"], {})),
    "a.zip": (write_archive, lambda path: unpack([path], path.parent / "out")),
    "a.jpg": (lambda path: Image.new("RGB", (40, 30), "red").save(path, "JPEG"), read_image),
    "a.pt": (
        lambda path: Job(path, [], "f").save({"weights": torch.arange(20.0)}),
        lambda path: Job(path, [], "f").load(),
    ),
    "a.vec.gz": (
        lambda path: path.write_bytes(gzip.compress(b"2 3\nw0 0.5 1 2\nw1 0.5 1 2\n")),
        lambda path: read_vectors(path, ["w0", "w1"], WordSettings(vectors="file", dimension=3)),
    ),
}


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None, deadline=None)
@given(name=st.sampled_from(list(READERS)), data=st.data())
def test_a_reader_reads_or_refuses(name: str, data: st.DataObject) -> None:
    write, read = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        read(path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, max(0, len(content) - 1)))
            content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        path.write_bytes(content[: data.draw(st.integers(0, len(content)))] or content)
        try:
            read(path)
        except UnreadableImage:
            pass
        except Exception as error:
            if not (message := error_message(error)):
                raise
            assert "weights_only" not in message
