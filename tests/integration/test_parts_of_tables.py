"""Targets other than whole tables that the docs describe, on hand-written evaluations."""

import json
import shutil
from typing import Any

import pandas as pd
import pytest
from evaluations import Key, write_evaluations
from project import Project, copy_of_project

pytestmark = pytest.mark.integration

RECALLS = {"mule-full": {"en": 60.0, "de": 45.0}, "parallel-embn": {"en": 40.0, "de": 44.0}}
SEEDS = [0, 1, 2]
COLUMNS = {"multi30k": ["en", "de"]}
ROWS = [
    {"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"},
    {"row": 2, "method": "MULE full", "experiment": "mule-full"},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with evaluations of two experiments; seed 1 finds five more images in a hundred."""
    project = copy_of_project(tmp_path_factory.mktemp("recipes"))
    for name, recalls in RECALLS.items():
        for seed in SEEDS:
            folder = project.folder / f"work/demo/multi30k/experiments/{name}/seed{seed}"
            folder.mkdir(parents=True)
            of_seed = {language: value + 5 * (seed == 1) for language, value in recalls.items()}
            key: Key = ("multi30k", name, "original", seed)
            (written,) = write_evaluations(folder, {key: of_seed}, images=100)
            content = {**json.loads(written.read_text()), "ranks": "test-original-ranks.csv.gz"}
            shutil.move(folder / "0-ranks.csv.gz", folder / "test-original-ranks.csv.gz")
            (folder / "test-original.json").write_text(json.dumps(content))
            written.unlink()
    return project


def make_table(project: Project, target: str, **settings: Any) -> str:
    project.configure(**{"scale": "demo", "seeds": SEEDS, **settings})
    allowed = ["--allowed-rules", "tabulate", "compare"]
    done = project.snakemake("--cores", "1", target, *allowed)
    return "" if done.returncode == 0 else done.stdout


def test_two_experiments_are_compared_over_three_seeds(project: Project) -> None:
    target = "results/compare/multi30k/mule-full-vs-parallel-embn.csv"
    assert make_table(project, target) == ""
    table = pd.read_csv(project.folder / target).set_index("language")
    assert list(table.index) == ["en", "de"]
    assert list(table["seeds"]) == ["0 1 2"] * 2
    assert table.loc["en", "difference"] == pytest.approx(20.0)
    assert table.loc["de", "difference"] == pytest.approx(1.0)
    assert table.loc["en", "p_holm"] < 0.05 < table.loc["de", "p_holm"]


def test_a_mistyped_experiment_is_named(project: Project) -> None:
    output = make_table(project, "results/compare/multi30k/mule-ful-vs-parallel-embn.csv")
    assert "no experiment 'mule-ful', did you mean 'mule-full'" in output


def test_only_some_rows_of_a_table(project: Project) -> None:
    tables = {"mine": {"columns": COLUMNS, "rows": ROWS}}
    assert make_table(project, "results/mine-row2.csv", tables=tables) == ""
    table = pd.read_csv(project.folder / "results/mine-row2.csv")
    assert list(table["method"]) == ["MULE full"]
    assert list(table["multi30k en"]) == [61.7]  # the mean of 60, 65 and 60
    assert not (project.folder / "results/mine.csv").exists()
    output = make_table(project, "results/mine-row2+7.csv", tables=tables)
    assert "mine has no row 7" in output and "its rows are 1, 2" in output
