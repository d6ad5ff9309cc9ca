"""Models that compute nodes without a network need from the Hugging Face hub, all of which are requested."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.prefetch import prefetch_models
from pipeline.settings import reading
from pipeline.settings.hub import HubModels, hub_models


def models(pairs: list[str], **user: Any) -> HubModels:
    return hub_models(reading.load(user), pairs)


def test_the_paper_scale_needs_its_three_networks_and_bert() -> None:
    found = models([], scale="paper")
    assert [name.partition(".")[0] for name in found.backbones] == ["resnet152", "resnet50", "vgg19"]
    assert found.bert


def test_imported_features_and_local_folders_are_not_fetched(tmp_path: Path) -> None:
    for name in ("f.h5", "model"):
        (tmp_path / name).mkdir()
    sets = {"vgg": {"features": str(tmp_path / "f.h5")}, "resnet50": None}
    images = {"features": str(tmp_path / "f.h5"), "sets": sets}
    bert = {"model": str(tmp_path / "model")}
    assert models([], scale="paper", images=images, bert=bert) == HubModels()


def test_marian_models_of_each_pair_once() -> None:
    model = "Helsinki-NLP/opus-mt-{source}-{target}"
    translation = {
        "default": {"provider": "marian", "model": model},
        "pairs": {"en-ja": {"provider": "marian", "model": "a/b", "revision": "v1"}},
    }
    found = models(["en-de", "fr-en", "en-ja"], scale="demo", translation=translation)
    opus = {f"Helsinki-NLP/opus-mt-{pair}": None for pair in ("en-de", "fr-en")}
    assert found.marian == {**opus, "a/b": "v1"}


def test_what_was_fetched_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("pipeline.images.backbone.hub_model", fetched.append)
    monkeypatch.setattr("pipeline.translation.marian.model_folder", lambda *given: fetched.append(given))
    wanted = HubModels(backbones=["one", "two"], marian={"three": "main"})
    prefetch_models(wanted, tmp_path / "list.txt")
    assert fetched == ["one", "two", ("three", "main")]
    assert (tmp_path / "list.txt").read_text() == "timm one\ntimm two\nmarian three\n"
