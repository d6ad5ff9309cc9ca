"""Models that compute nodes without a network need from the Hugging Face hub, all of which are requested."""

from pathlib import Path
from typing import Any

import pytest
from plans import MULTI30K, plan_of

from pipeline.plan.sources import prefetched_models
from pipeline.prefetch import prefetch_models


def test_the_paper_scale_needs_its_three_networks_and_bert() -> None:
    bert, *networks = prefetched_models(plan_of(scale="paper"))
    assert bert == "bert google-bert/bert-base-multilingual-cased"
    assert [name.partition(".")[0] for name in networks] == ["timm resnet152", "timm resnet50", "timm vgg19"]


def test_imported_features_and_local_folders_are_not_fetched(tmp_path: Path) -> None:
    features, model = str(tmp_path / "f.h5"), str(tmp_path)
    images = {"features": features, "sets": {"vgg": {"features": features}, "resnet50": None}}
    (tmp_path / "en-de").mkdir()
    pair = {"en-de": {"provider": "marian", "model": f"{model}/{{source}}-{{target}}"}}
    changes = {"images": images, "bert": {"model": model}, "translation": {"pairs": pair}}
    assert prefetched_models(plan_of(scale="paper", **changes)) == []


def test_marian_models_of_each_pair_once() -> None:
    translation = {
        "default": {"provider": "marian", "model": "Helsinki-NLP/opus-mt-{source}-{target}"},
        "pairs": {"en-de": {"provider": "marian", "model": "a/b", "revision": "v1"}},
    }
    rows = [{"experiment": "mule-full-human+mt"}, {"experiment": "embn-human+mt"}]
    mine = {"columns": {"multi30k": MULTI30K}, "rows": rows}
    plan = plan_of(translation=translation, tables={"mine": mine})
    names = [model for model in prefetched_models(plan) if model.startswith("marian")]
    assert len(names) == len(set(names))
    assert {"marian a/b@v1", "marian Helsinki-NLP/opus-mt-en-fr"} <= {*names}
    assert "marian Helsinki-NLP/opus-mt-en-de" not in names


def test_what_was_fetched_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("pipeline.images.backbone.hub_model", fetched.append)
    monkeypatch.setattr("pipeline.translation.marian.model_folder", lambda *given: fetched.append(given))
    prefetch_models(tmp_path / "list.txt", ["timm one", "timm two", "marian three@main", "marian four"])
    assert fetched == ["one", "two", ("three", "main"), ("four", None)]
    assert (tmp_path / "list.txt").read_text() == "timm one\ntimm two\nmarian three@main\nmarian four\n"
