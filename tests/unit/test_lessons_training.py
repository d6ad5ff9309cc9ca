"""Training of *Lessons*: one word table, patience, killed runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from run_stages import block_of, killed_after, train_lessons
from small import universal

from pipeline.common.files import sha256
from pipeline.datasets.split import write_split
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.settings import Preparation
from pipeline.images.settings import FeatureSettings
from pipeline.models.model import RetrievalModel, count_parameters, load_model
from pipeline.models.settings import Model
from pipeline.training.data import Inputs
from pipeline.training.lessons import captions_and_sampler, learning_rate
from pipeline.training.settings import LessonsSettings, Resources, TaskTraining
from pipeline.words.corpus import Corpus, LanguageCorpus
from pipeline.words.selection import select_captions
from pipeline.words.settings import CaptionSelection, SelectionSettings

# Other settings are the paper's.
SETTINGS: dict[str, Any] = LessonsSettings(
    scale="demo",
    dataset="things",
    experiment="bilingual-c2c",
    seed=0,
    languages=["en", "de"],
    caption_origins={},
    features=FeatureSettings(backbone="eight things"),
    model=Model(
        encoder="vse",
        word_vectors="scratch",
        universal_dim=4,
        multimodal_dim=4,
        recurrent="gru",
        recurrent_init="pytorch",
        hidden_size=12,
    ),
    c2c=True,
    stop_on=["en", "de"],
    lessons=TaskTraining(batch_size=8, validate_every=10, patience=3, max_steps=200, learning_rate=0.02),
    training=Resources(threads=1, precision="float32"),
).model_dump()


def with_tasks(**keys: Any) -> dict[str, Any]:
    return {**SETTINGS, "lessons": {**SETTINGS["lessons"], **keys}}


def lessons_settings(settings: dict[str, Any]) -> LessonsSettings:
    return block_of(LessonsSettings, settings)


def test_a_model_of_one_language_is_validated_after_each_pass() -> None:
    part = LanguageCorpus(
        torch.ones(20, 1, dtype=torch.long), torch.ones(20, dtype=torch.long), np.arange(20)
    )
    corpus = Corpus([str(image) for image in range(20)], torch.zeros(20, 7), {"en": part})
    _, _, validate_every = captions_and_sampler(corpus, None, lessons_settings({**SETTINGS, "c2c": False}))
    assert validate_every == 3


@pytest.fixture(scope="module")
def selected(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The captions of the shared inputs, selected as for a pair of languages, with their vocabularies."""
    folder = tmp_path_factory.mktemp("selected")
    parts = [folder / "comparable" / path.name for path in inputs.sentences]
    parts[0].parent.mkdir()
    for path, part in zip(inputs.sentences, parts, strict=True):
        part.symlink_to(path)
    whole = CaptionSelection(parts=["comparable"], tested_on="comparable")
    chosen = dict.fromkeys(("en", "de"), whole)
    settings = SelectionSettings(languages=chosen, min_count=1, dimension=6, pairs_of="all_images")
    table = read_sentences(inputs.sentences[0])
    write_split(dict(zip(table["image"], table["split"], strict=True)), folder / "split.csv")
    select_captions(settings, parts, folder / "split.csv", folder)
    sentences, words = ([folder / f"{code}.{ending}" for code in chosen] for ending in ("csv", "h5"))
    return Inputs(sentences, [], words, inputs.features)


def train_selection(selected: Inputs, folder: Path, settings: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    count = len(settings["languages"])
    files = replace(selected, sentences=selected.sentences[:count], words=selected.words[:count])
    outputs = (folder / name for name in ("checkpoint.pt", "curves.csv", "model.pt"))
    train_lessons(files, [], settings, "code", *outputs)
    return folder / "model.pt"


def test_a_training_learns_stops_and_is_evaluated(selected: Inputs, tmp_path: Path) -> None:
    path = train_selection(selected, tmp_path, with_tasks(hinge="sum", max_steps=2000))
    curves = pd.read_csv(tmp_path / "curves.csv")
    best = curves["val_sum"].idxmax()
    assert len(curves) < 200  # the training ended by patience
    assert len(curves) == best + 1 + 3
    assert curves["val_sum"].iloc[best] == pytest.approx(
        6 * (curves["val_mR_en"] + curves["val_mR_de"]).iloc[best]
    )
    model, saved = load_model(path)
    assert isinstance(model, RetrievalModel)
    assert saved.epoch == best + 1
    assert saved.training_captions == {"en": {"human": 96}, "de": {"human": 48}}
    assert (saved.training_steps, saved.training_groups) == (10 * len(curves), [48])
    table = universal(model)["en"].table.weight
    assert torch.equal(table, universal(model)["de"].table.weight)
    branches = count_parameters(model.branches) + count_parameters(model.image_branch)
    assert saved.parameters == branches + table[1:].numel()  # both languages read one table
    assert selected.features
    outputs = tmp_path / "test.json", tmp_path / "ranks.csv.gz"
    evaluate(path, selected.features, selected.words, selected.sentences, Preparation(), *outputs)
    found = pd.read_json(tmp_path / "test.json", typ="series")["test"]
    assert min(found[code]["mR"] for code in ("en", "de")) > 60  # 41 and 44 by chance
    assert (found["en"]["sentences"], found["de"]["sentences"]) == (24, 12)


def test_the_rate_is_divided_after_every_given_number_of_passes() -> None:
    lessons = TaskTraining(learning_rate=2e-4, divide_learning_rate_every=15)
    rates = [learning_rate(passes, lessons) for passes in (0, 14, 15, 30)]
    assert rates == pytest.approx([2e-4, 2e-4, 2e-5, 2e-6])
    assert learning_rate(99, TaskTraining(learning_rate=2e-4)) == 2e-4


def test_training_makes_at_most_the_maximum_number_of_steps(selected: Inputs, tmp_path: Path) -> None:
    """Validation follows every ten steps: of at most 29 steps, only 20 are made."""
    train_selection(selected, tmp_path, with_tasks(max_steps=29, patience=9))
    assert len(pd.read_csv(tmp_path / "curves.csv")) == 2


@pytest.mark.parametrize("languages", [["en"], ["en", "de"]])
def test_a_killed_training_resumes_to_the_same_bits(
    selected: Inputs, tmp_path: Path, languages: list[str]
) -> None:
    settings = with_tasks(max_steps=50, divide_learning_rate_every=1 if len(languages) == 1 else None)
    settings |= {"languages": languages, "stop_on": languages, "c2c": len(languages) > 1}
    whole = train_selection(selected, tmp_path / "whole", settings)
    with killed_after(17):
        train_selection(selected, tmp_path / "killed", settings)
    again = train_selection(selected, tmp_path / "killed", settings)
    assert sha256(again) == sha256(whole)
    assert (tmp_path / "killed/curves.csv").read_bytes() == (tmp_path / "whole/curves.csv").read_bytes()
