"""Trainings with as many steps, at the same learning rates, as another experiment's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from run_stages import train

from pipeline.common.errors import InputError
from pipeline.models.model import load_model
from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.configuration import Configuration
from pipeline.training.data import Inputs


def load(**values: Any) -> Configuration:
    return reading.load({"scale": "demo", **values})


def test_a_training_takes_the_steps_of_another_experiment(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    """48 images have 96 English and 48 German captions: in batches of 12, 8 steps per epoch instead of 4."""
    experiment["training"] |= {"epoch_unit": "sentences", "epochs": 3}
    alone = {**experiment, "languages": ["de"], "neighborhood": None, "classifier": None}
    german = replace(inputs, sentences=inputs.sentences[1:], words=inputs.words[1:])
    steps = {}
    for name, files, settings in (
        ("joint", inputs, experiment),
        ("alone", german, alone),
        ("equal", replace(german, steps_of=tmp_path / "joint.pt"), alone),
    ):
        paths = [tmp_path / f"{name}.{ending}" for ending in ("checkpoint", "csv", "pt")]
        train(files, settings, "code", *paths)
        steps[name] = load_model(paths[2])[1].training_steps
        assert len(pd.read_csv(paths[1])) == 3
    assert steps == {"joint": 3 * 8, "alone": 3 * 4, "equal": 3 * 8}


def test_epochs_and_learning_rates_are_those_of_the_other_experiment() -> None:
    settings = load(
        training={"learning_rate": 1.0e-2},
        experiments={"parallel-embn": {"settings": {"training": {"epochs": 7, "learning_rate_decay": 0.9}}}},
    )
    french, joint = (
        stage_settings.train_settings(settings, "multi30k", name, 0).training
        for name in ("embn-equal-steps-fr", "parallel-embn")
    )
    assert french == joint
    assert (french.epochs, french.learning_rate, french.learning_rate_decay) == (7, 1.0e-2, 0.9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps_of": "embn"}, "found 'embn', expected an experiment with one model for all its languages"),
        (
            {"settings": {"training": {"epochs": 3}}},
            "training.epochs: with steps_of it is that of parallel-embn",
        ),
    ],
)
def test_experiments_whose_steps_cannot_be_taken_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        load(experiments={"embn-equal-steps": changes})
    assert message in str(error.value)


def test_steps_are_not_taken_from_an_experiment_that_takes_them_itself() -> None:
    first = {"branches": "shared", "captions": "human", "steps_of": "parallel-embn"}
    with pytest.raises(InputError, match=r"second\.steps_of: found 'first', expected an experiment"):
        load(experiments={"first": first, "second": {**first, "steps_of": "first"}})
