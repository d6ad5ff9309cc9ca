"""Every path of a configuration must exist before anything runs, or it is named with its key."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.common.errors import InputError
from pipeline.settings import reading
from pipeline.settings.paths import check_paths

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
        "mscoco": {"split": "mine/coco.csv"},
    },
    "sources": {"mirror": "mine/mirror"},
    "images": {
        "features": "mine/main.h5",
        "list": "mine/list.txt",
        "weights": "mine/weights.pth",
        "sets": {"vgg": {"features": "mine/vgg.h5"}, "resnet50": {"weights": "./resnet50.pth"}},
    },
    "translation": {"dictionaries": "mine/dictionaries"},
    "bert": {"model": "mine/models/bert"},
}
KEYS = [
    "datasets.mine.captions: mine/en.csv",
    "datasets.mine.captions: mine/sw.csv",
    "datasets.mine.split: mine/split.csv",
    "datasets.mine.images: mine/images",
    "datasets.mscoco.split: mine/coco.csv",
    "sources.mirror: mine/mirror",
    "images.features: mine/main.h5",
    "images.list: mine/list.txt",
    "images.weights: mine/weights.pth",
    "images.sets.vgg.features: mine/vgg.h5",
    "images.sets.resnet50.weights: ./resnet50.pth",
    "translation.dictionaries: mine/dictionaries",
    "bert.model: mine/models/bert",
]
FOLDERS = ("images", "mirror", "dictionaries", "bert")


def check(scale: str = "paper", **user: Any) -> None:
    check_paths(reading.load({"scale": scale, **user}))


def messages(**user: Any) -> list[str]:
    """The lines about single paths."""
    with pytest.raises(InputError) as caught:
        check(**user)
    return str(caught.value).split("\n  - ")[1:]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", str(tmp_path))
    monkeypatch.delenv("NOT_SET", raising=False)


@pytest.mark.parametrize("scale", ["demo", "flickr8k", "paper"])
def test_a_scale_itself_needs_no_data(scale: str) -> None:
    check(scale)


def test_every_missing_path_is_named_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.common.errors.MAX_LINES", 20)
    with pytest.raises(InputError) as caught:
        check(**EVERYWHERE)
    assert f"(relative to {tmp_path}):" in str(caught.value)
    assert sorted(line.partition(": not there")[0] for line in messages(**EVERYWHERE)) == sorted(KEYS)
    for line in KEYS:
        path = tmp_path / line.partition(": ")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if path.name in FOLDERS else path.touch()
    check(**EVERYWHERE)


@pytest.mark.parametrize(
    "named",
    [
        {"bert": {"model": "google-bert/bert-base-multilingual-cased"}},
        {"bert": {"model": "bert-base-multilingual-cased"}},
        {"bert": {"model": "work/paper/multi30k/bert/model"}},  # the output of a rule
        {"images": {"weights": "package:some-package"}},
        {"sources": {"mirror": "https://mirror.example/files"}},
        {"translation": {"default": {"provider": "marian", "model": "Helsinki-NLP/{source}-{target}"}}},
        {"translation": {"cache": "elsewhere/translations.sqlite"}},
        {"datasets": {"multi30k": {"split": "flickr8k", "images": "flickr8k"}}},
        {"sources": {"flickr30k": "on-request/flickr30k"}},
    ],
)
def test_names_and_outputs_of_rules_may_be_missing(named: dict[str, Any]) -> None:
    check(**named)


def test_paths_take_environment_variables(tmp_path: Path) -> None:
    user = {"scale": "paper", "images": {"weights": "$MINE/w.pth"}, "bert": {"model": "${MINE}/b"}}
    found = reading.load(user)
    assert (found.images.weights, found.bert.model) == (f"{tmp_path}/w.pth", f"{tmp_path}/b")
