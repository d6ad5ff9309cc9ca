"""Every path of a configuration must exist before anything runs, or it is named with its key."""

import re
from pathlib import Path
from typing import Any

import pytest

from pipeline import settings as configuration
from pipeline.common.errors import InputError

CONFIG = Path(__file__).parents[2] / "config"

# A configuration with a path at every key that takes one.
EVERYWHERE: dict[str, Any] = {
    "datasets": {
        "mine": {
            "source": "custom",
            "captions": "mine/{language}.csv",
            "split": "mine/split.csv",
            "images": "mine/images",
            "languages": ["en", "sw"],
        },
        "mscoco": {"test_images": "mine/test.txt", "val_images": "mine/val.txt"},
    },
    "sources": {"mirror": "mine/mirror", "flickr30k": "mine/flickr30k.zip", "coco_cn": "mine/coco-cn"},
    "images": {
        "features": "mine/main.h5",
        "list": "mine/list.txt",
        "weights": "mine/weights.pth",
        "sets": {"vgg": {"features": "mine/vgg.h5"}, "resnet50": {"weights": "./resnet50.pth"}},
    },
    "translation": {
        "dictionaries": "mine/dictionaries",
    },
    "bert": {"model": "mine/models/bert"},
}
KEYS = [
    "datasets.mine.captions: mine/en.csv",
    "datasets.mine.captions: mine/sw.csv",
    "datasets.mine.split: mine/split.csv",
    "datasets.mine.images: mine/images",
    "datasets.mscoco.test_images: mine/test.txt",
    "datasets.mscoco.val_images: mine/val.txt",
    "sources.mirror: mine/mirror",
    "sources.flickr30k: mine/flickr30k.zip",
    "sources.coco_cn: mine/coco-cn",
    "images.features: mine/main.h5",
    "images.list: mine/list.txt",
    "images.weights: mine/weights.pth",
    "images.sets.vgg.features: mine/vgg.h5",
    "images.sets.resnet50.weights: ./resnet50.pth",
    "translation.dictionaries: mine/dictionaries",
    "bert.model: mine/models/bert",
]
FOLDERS = ("images", "mirror", "coco-cn", "dictionaries", "bert")


def check(scale: str = "paper", **user: Any) -> None:
    settings = configuration.load({"scale": scale, **user}, CONFIG)
    configuration.check_paths(settings, configuration.usual_sources(settings.scale, CONFIG))


def messages(scale: str = "paper", **user: Any) -> list[str]:
    """The lines about single paths."""
    with pytest.raises(InputError) as caught:
        check(scale, **user)
    return str(caught.value).split("\n  - ")[1:]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put_everything(folder: Path) -> None:
    for line in KEYS:
        path = folder / line.partition(": ")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if path.name in FOLDERS else path.touch()


def test_every_missing_path_is_named_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.common.errors.MAX_LINES", 20)
    lines = messages(**EVERYWHERE)
    assert sorted(line.partition(": not there, expected a f")[0] for line in lines) == sorted(KEYS)


def test_existing_paths_are_accepted(tmp_path: Path) -> None:
    put_everything(tmp_path)
    check(**EVERYWHERE)


@pytest.mark.parametrize("line", KEYS)
def test_each_single_missing_path_is_noticed(tmp_path: Path, line: str) -> None:
    put_everything(tmp_path)
    path = tmp_path / line.partition(": ")[2]
    path.rename(path.with_name("gone"))
    assert [message.partition(": not there")[0] for message in messages(**EVERYWHERE)] == [line]


def test_a_folder_in_place_of_a_file_or_the_reverse_is_named(tmp_path: Path) -> None:
    (tmp_path / "list").mkdir()
    (tmp_path / "bert").touch()
    assert messages(images={"list": "list"}, bert={"model": "./bert"}) == [
        "images.list: list: a folder, expected a file",
        "bert.model: ./bert: a file, expected a folder",
    ]


@pytest.mark.parametrize("scale", ["demo", "flickr8k", "paper"])
def test_a_scale_itself_needs_no_data(scale: str) -> None:
    check(scale)


@pytest.mark.parametrize(
    "named",
    [
        {"bert": {"model": "google-bert/bert-base-multilingual-cased"}},
        {"bert": {"model": "bert-base-multilingual-cased"}},
        {"images": {"weights": "package:some-package"}},
        {"sources": {"mirror": "https://mirror.example/files"}},
        {
            "translation": {
                "default": {"provider": "marian", "model": "Helsinki-NLP/opus-mt-{source}-{target}"}
            }
        },
        {"translation": {"default": {"provider": "marian", "model": "./opus-{source}-{target}"}}},
        {"translation": {"cache": "elsewhere/translations.sqlite"}},
        {"datasets": {"multi30k": {"split": "flickr8k", "images": "flickr8k"}}},
        {"sources": {"flickr30k": "on-request/flickr30k"}},
    ],
)
def test_names_are_not_paths(named: dict[str, Any]) -> None:
    check(**named)


def test_outputs_of_rules_may_be_missing() -> None:
    check(bert={"model": "work/paper/multi30k/bert/model"}, images={"list": "work/sources/host/list.txt"})
    (line,) = messages(bert={"model": "work/flickr8k/multi30k/bert/model"})
    assert line.startswith("bert.model: work/flickr8k/multi30k/bert/model: not there, expected a folder")


def test_the_folder_that_paths_are_relative_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(f"(relative to {tmp_path}):")):
        check(images={"list": "list.txt"})


def test_weights_and_models_take_environment_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_FOLDER", str(tmp_path))
    found = configuration.load(
        {"scale": "paper", "images": {"weights": "$SOME_FOLDER/w.pth"}, "bert": {"model": "$SOME_FOLDER/b"}},
        CONFIG,
    )
    assert found.images.weights == f"{tmp_path}/w.pth"
    assert found.bert.model == f"{tmp_path}/b"


def test_every_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_FOLDER", raising=False)
    with pytest.raises(InputError) as caught:
        check(images={"features": "$NO_FOLDER/f.h5"}, sources={"mirror": "${NO_FOLDER}"})
    assert "images.features: $NO_FOLDER/f.h5" in str(caught.value)
    assert "sources.mirror: ${NO_FOLDER}" in str(caught.value)
