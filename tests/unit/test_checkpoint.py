"""A finished run is kept beside its checkpoint, and a damaged one is not brought back."""

from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.common.errors import InputError
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.saved import Saved, load_model, save_model
from pipeline.training.checkpoint import found_finished, keep_finished
from pipeline.training.loop import seed_dropout
from pipeline.training.train import Inputs


def test_a_finished_run_is_there_again_for_the_same_settings_alone(tmp_path: Path) -> None:
    model, checkpoint = tmp_path / "model.pt", tmp_path / "checkpoints" / "run.pt"
    model.write_text("weights")
    keep_finished(checkpoint, "same", [model])
    model.unlink()
    assert not found_finished(checkpoint, "other", [model])
    assert found_finished(checkpoint, "same", [model])
    assert model.read_text() == "weights"


@pytest.mark.parametrize("changed", ["sentences", "translations", "words", "features", "pretrained"])
def test_a_run_with_another_file_is_another_run(tmp_path: Path, changed: str) -> None:
    """Weights depend on the bytes of every file; settings and code are told beside them."""
    names = ("sentences", "translations", "words", "features", "pretrained")
    files = {name: tmp_path / name for name in names}
    for name, path in files.items():
        path.write_text(name)
    inputs = Inputs(
        [files["sentences"]],
        [files["translations"]],
        [files["words"]],
        files["features"],
        files["pretrained"],
    )
    before = inputs.fingerprint({"seed": 0}, "code")
    assert before == inputs.fingerprint({"seed": 0}, "code")
    assert (
        len({before, inputs.fingerprint({"seed": 1}, "code"), inputs.fingerprint({"seed": 0}, "other")}) == 3
    )
    files[changed].write_text("other bytes")
    assert inputs.fingerprint({"seed": 0}, "code") != before


def test_a_finished_model_that_was_damaged_is_trained_again(tmp_path: Path) -> None:
    model, checkpoint = tmp_path / "model.pt", tmp_path / "checkpoints" / "run.pt"
    model.write_text("weights")
    keep_finished(checkpoint, "same", [model])
    with open(model, "r+") as file:  # the kept link is the same file
        file.truncate(3)
    model.unlink()
    assert not found_finished(checkpoint, "same", [model])
    assert not checkpoint.exists()


@pytest.mark.parametrize(
    "content", ["<html></html>", "version https://git-lfs.github.com/spec/v1\n", "abc", ""]
)
def test_a_file_that_is_no_model_is_one_message(tmp_path: Path, content: str) -> None:
    path = tmp_path / "model.pt"
    path.write_text(content)
    with pytest.raises(InputError, match="not a model of this project"):
        load_model(path)


def test_a_date_may_be_a_seed() -> None:
    seed_dropout(20261121, 20, 64)


def test_equal_models_are_equal_bytes_whichever_of_their_texts_are_one_object(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {
        "universal_dim": 2,
        "multimodal_dim": 2,
        "hidden_size": 2,
        "image_hidden_size": 2,
        "dropout": 0.5,
    }
    kinds = {"encoder": "embn", "word_vectors": "pretrained", "similarity": "cosine", "recurrent": "lstm"}
    more = {"batch_norm_momentum": 0.1, "universal_mean": "words", "universal_layers": "separate"}
    more["recurrent_init"] = "pytorch"
    made = RetrievalModel({"en": torch.zeros(2, 3)}, 2, "shared", {**sizes, **kinds, **more})
    english = "".join(["e", "n"])  # another object than "en", as read from a checkpoint
    for name, language in (("whole.pt", "en"), ("resumed.pt", english)):
        captions, translations = {language: {"human": 3}}, {f"de-{language}": {"google": 1}}
        saved = Saved({"languages": ["en"]}, {"en": "digest"}, 1, {language: 50.0}, captions, translations)
        save_model(tmp_path / name, made, saved)
    assert (tmp_path / "whole.pt").read_bytes() == (tmp_path / "resumed.pt").read_bytes()
