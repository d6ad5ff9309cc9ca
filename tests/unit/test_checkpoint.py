"""A finished run is kept next to its checkpoint, and a damaged run is not restored."""

from pathlib import Path

import pytest
import torch
from small import record, saved_settings, word_model

from pipeline.models.model import save_model
from pipeline.models.settings import Model, ModelSettings, SavedSettings
from pipeline.training.data import Inputs
from pipeline.training.loop import Job


def test_a_finished_run_is_restored_only_for_the_same_settings(tmp_path: Path) -> None:
    model, checkpoint = tmp_path / "model.pt", tmp_path / "checkpoints" / "run.pt"
    model.write_text("weights")
    job = Job(checkpoint, [model], "same")
    job.keep_outputs()
    model.unlink()
    assert not Job(checkpoint, [model], "other").restore_outputs()
    assert job.restore_outputs()
    assert model.read_text() == "weights"


def settings(seed: int) -> SavedSettings:
    return saved_settings(ModelSettings(languages=["en"], model=Model()), seed=seed)


@pytest.mark.parametrize("changed", ["sentences", "translations", "words", "features", "pretrained"])
def test_a_run_with_another_file_is_another_run(tmp_path: Path, changed: str) -> None:
    """Weights depend on the bytes of every file, besides settings and code."""
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
    before = inputs.fingerprint(settings(0), "code")
    assert before == inputs.fingerprint(settings(0), "code")
    assert (
        len({before, inputs.fingerprint(settings(1), "code"), inputs.fingerprint(settings(0), "other")}) == 3
    )
    files[changed].write_text("other bytes")
    assert inputs.fingerprint(settings(0), "code") != before


def test_a_finished_model_that_was_damaged_is_trained_again(tmp_path: Path) -> None:
    model, checkpoint = tmp_path / "model.pt", tmp_path / "checkpoints" / "run.pt"
    model.write_text("weights")
    job = Job(checkpoint, [model], "same")
    job.keep_outputs()
    with open(model, "r+") as file:  # the kept link is the same file
        file.truncate(3)
    model.unlink()
    assert not job.restore_outputs()
    assert not checkpoint.exists()


def test_equal_models_are_equal_bytes_even_if_equal_texts_are_different_objects(tmp_path: Path) -> None:
    made = word_model({"model": {"universal_dim": 2, "hidden_size": 2}}, {"en": torch.zeros(2, 3)}, 2)
    english = "".join(["e", "n"])  # another object than "en", as read from a checkpoint
    settings = saved_settings(ModelSettings(languages=["en"], model=Model()))
    for name, language in (("whole.pt", "en"), ("resumed.pt", english)):
        captions, translations = {language: {"human": 3}}, {f"de-{language}": {"google": 1}}
        saved = record(
            settings,
            words={"en": ["", "a"]},
            validation={language: 50.0},
            training_captions=captions,
            training_translations=translations,
        )
        save_model(tmp_path / name, made, saved)
    assert (tmp_path / "whole.pt").read_bytes() == (tmp_path / "resumed.pt").read_bytes()
