"""Weights with a known commit or digest, and other weights in their place."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from pipeline.common import published_weights as pinned
from pipeline.common.errors import InputError

NAME = "timm/resnet50.tv_in1k"


@pytest.mark.parametrize(
    "name", ["w-{digest}.pth", "w-{digest}.safetensors", "w-20260131.pth", "w.pth", "w-x.pt"]
)
def test_a_name_with_the_files_digest_or_without_one_is_accepted(tmp_path: Path, name: str) -> None:
    digest = hashlib.sha256(b"weights").hexdigest()[:8]
    assert set(digest) - set("0123456789"), "else it could be a date"
    path = tmp_path / name.format(digest=digest)
    path.write_bytes(b"weights")
    pinned.check_digest_in_name(path)


def test_a_name_with_another_digest_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "resnet152-394f9c45.pth"
    path.write_bytes(b"weights")
    with pytest.raises(
        InputError, match=r"resnet152-394f9c45\.pth: its name promises a SHA-256 that begins with 394f9c45"
    ):
        pinned.check_digest_in_name(path)


def test_weights_of_the_hub_are_fetched_by_commit_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def fetch(name: str, file: str, revision: str) -> str:
        asked.append((name, file, revision))
        (tmp_path / file).write_bytes(b"weights")
        return str(tmp_path / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fetch)
    with pytest.raises(InputError, match=r"model\.safetensors: not the published weights of timm/resnet50"):
        pinned.check_hub_weights(NAME)
    monkeypatch.setitem(pinned.WEIGHTS, NAME, ("model.safetensors", hashlib.sha256(b"weights").hexdigest()))
    pinned.check_hub_weights(NAME)
    assert asked == [(NAME, "model.safetensors", "78f3ecfdb38e06d9b8397f662e7ab8fee96026fa")] * 2
    pinned.check_hub_weights("timm/another")
    assert len(asked) == 2


def test_bert_and_timm_request_that_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.images import backbone
    from pipeline.words import sentence_vectors

    asked: list[Any] = []

    def refuse(*names: Any, **given: Any) -> None:
        asked.append(given)
        raise OSError("no network")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", refuse)
    with pytest.raises(InputError, match="no network"):
        sentence_vectors.load_bert("google-bert/bert-base-multilingual-cased", -2)
    assert asked.pop() == {"revision": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8"}
    monkeypatch.setattr("timm.create_model", refuse)
    monkeypatch.setattr(backbone, "check_hub_weights", lambda name: None)
    with pytest.raises(InputError, match="timm could not fetch its weights: no network"):
        backbone.hub_model("resnet50.tv_in1k")
    overlay = asked.pop()["pretrained_cfg_overlay"]
    assert overlay == {"hf_hub_id": "timm/resnet50.tv_in1k@78f3ecfdb38e06d9b8397f662e7ab8fee96026fa"}
    with pytest.raises(InputError):
        backbone.hub_model("resnet152.tv_in1k")
    assert "pretrained_cfg_overlay" not in asked.pop()
