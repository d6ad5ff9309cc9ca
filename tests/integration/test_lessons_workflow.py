"""Experiments of *Lessons* through Snakemake, on a few scenes: parts, samples, selections, training."""

from typing import Any

import h5py
import pandas as pd
import pytest
from project import DEMO, Project, ready

pytestmark = pytest.mark.integration

# Halves as in the text and in the code, a sample, both parts, a model that stops on one language.
ROWS = [
    "bi-disjoint",
    "bi-overlap-c2c-as-code",
    "multi-comparable-c2c",
    "multilingual-comparable",
    "monolingual-half",
]
SETTINGS: dict[str, Any] = {
    **DEMO,
    "lessons": {"max_steps": 4, "validate_every": 2, "batch_size": 8},
    "tables": {
        "few": {
            "metrics": ["s2i_R@10"],
            "columns": {"multi30k": ["en", "fr"]},
            "rows": [{"row": n, "method": name, "experiment": name} for n, name in enumerate(ROWS, 1)],
        }
    },
}
FOLDER = "work/demo/multi30k"


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = ready(tmp_path_factory.mktemp("lessons"), tmp_path_factory)
    project.configure(**SETTINGS)
    project.make("results/few.csv")
    return project


def table(made: Project, path: str) -> pd.DataFrame:
    return pd.read_csv(made.folder / FOLDER / path, keep_default_na=False)


def training(made: Project, experiment: str, language: str) -> pd.DataFrame:
    selected = table(made, f"selected/{experiment}/{language}.csv")
    return selected[selected["split"] == "train"]


def test_the_table_has_the_recalls_that_it_names(shared_project: Project) -> None:
    found = pd.read_csv(shared_project.folder / "results/few.csv")
    assert [name for name in found if name.startswith("multi30k")] == [
        "multi30k en s2i_R@10",
        "multi30k fr s2i_R@10",
    ]
    of_french = found["multi30k fr s2i_R@10"].notna().to_list()
    assert of_french == [name.startswith("multi") for name in ROWS]
    assert found["multi30k en s2i_R@10"].notna().all()
    assert shared_project.would_run("results/few.csv") == {}


def test_halves_are_shared_in_the_text_and_separate_for_each_language_in_the_code(
    shared_project: Project,
) -> None:
    """The halves of 40 training images."""
    halves = table(shared_project, "drawn/halves-seed0.csv").set_index("image")["half"]
    assert halves.value_counts().to_dict() == {"first": 20, "second": 20}
    first = set(halves.index[halves == "first"])
    assert set(training(shared_project, "bi-disjoint", "en")["image"]) == first
    assert set(training(shared_project, "bi-disjoint", "de")["image"]) == set(halves.index) - first
    assert set(training(shared_project, "monolingual-half-en", "en")["image"]) == first
    own = table(shared_project, "drawn/halves-seed0-de.csv").set_index("image")["half"]
    assert set(training(shared_project, "bi-overlap-c2c-as-code", "de")["image"]) == set(
        own.index[own == "first"]
    )
    paired = table(shared_project, "selected/bi-overlap-c2c-as-code/pairs-de.csv")
    assert paired["image"].value_counts().to_dict() == dict.fromkeys(halves.index, 5)


def test_captions_of_the_parts_are_selected(shared_project: Project) -> None:
    """Five comparable captions, a sample of one of them, or all five and the translation."""
    drawn, both = (
        training(shared_project, name, "en")
        for name in ("multi-comparable-c2c", "multilingual-comparable-en")
    )
    assert drawn["image"].value_counts().to_dict() == dict.fromkeys(drawn["image"], 1)
    assert both["image"].value_counts().to_dict() == dict.fromkeys(both["image"], 6)
    assert len(training(shared_project, "multilingual-comparable-fr", "fr")) == 40
    asked = table(shared_project, "selected/multi-comparable-c2c/en.csv")
    assert (asked["split"] == "test").sum() == 5 * 14


def test_languages_of_an_experiment_have_the_same_words(shared_project: Project) -> None:
    words = []
    for language in ("en", "de", "fr", "cs"):
        with h5py.File(
            shared_project.folder / FOLDER / f"selected/multi-comparable-c2c/{language}.h5"
        ) as file:
            words.append(list(file["words"].asstr()[:]))
    assert words[0][:4] == ["", "<unk>", "<start>", "<end>"]
    assert all(others == words[0] for others in words)


def test_another_quirk_of_the_code_trains_only_what_uses_it(shared_project: Project) -> None:
    """`validated_by_fives` concerns the training; the halves concern the selection too."""
    shared_project.configure(**{**SETTINGS, "lessons": {**SETTINGS["lessons"], "halves": "per_language"}})
    jobs = shared_project.would_run("results/few.csv")
    shared_project.configure(**{**SETTINGS, "lessons": {**SETTINGS["lessons"], "validated_by_fives": ["en"]}})
    validated = shared_project.would_run("results/few.csv")
    shared_project.configure(**SETTINGS)
    # bi-disjoint and monolingual-half-en; rows as published code have had these halves before
    assert jobs["select_captions"] == 2
    assert "select_captions" not in validated
    assert validated["train_lessons"] == len(ROWS) + 1  # a model for each column of multilingual-comparable


COMPARABLE = {"parts": ["comparable"], "tested_on": "comparable"}
WRONG: dict[str, dict[str, Any]] = {
    "comparable part has no captions in 'fr'": {"fr": COMPARABLE},
    "6 captions of each image are to be sampled, but": {"en": {**COMPARABLE, "captions_per_image": 6}},
}


@pytest.mark.parametrize("message", WRONG)
def test_missing_captions_are_reported_before_training(shared_project: Project, message: str) -> None:
    language = next(iter(WRONG[message]))
    wrong = {"one_per_language": True, "branches": "shared", "captions": "human", "features": "resnet50"}
    wrong |= {"selection": WRONG[message]}
    wrong |= {"settings": {"model": {"encoder": "vse", "word_vectors": "scratch", "recurrent": "gru"}}}
    rows = [{"row": 1, "method": "Wrong", "experiment": "wrong"}]
    few = {"columns": {"multi30k": [language]}, "rows": rows}
    shared_project.configure(**{**SETTINGS, "experiments": {"wrong": wrong}, "tables": {"wrong": few}})
    done = shared_project.snakemake("--cores", "2", "results/wrong.csv")
    shared_project.configure(**SETTINGS)
    assert done.returncode == 1
    logs = (shared_project.folder / "work/logs/demo/multi30k").glob("*.log")
    told = [log.read_text() for log in logs if message in log.read_text()]
    assert len(told) == 1 and told[0].count("error: ") == 1
    assert not (shared_project.folder / f"{FOLDER}/experiments/wrong-{language}").exists()
