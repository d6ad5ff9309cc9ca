"""Tables of hand-written evaluations: their parts, comparisons, and when a finished table is replaced."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from evaluations import Key, write_evaluations
from project import Project, copy_of_project

pytestmark = pytest.mark.integration

FULL, PARALLEL = "mule-full", "parallel-embn"
RECALLS = {FULL: {"en": 60.0, "de": 45.0}, PARALLEL: {"en": 40.0, "de": 44.0}}
SEEDS = [0, 1, 2]
ROWS = [
    {"row": 1, "method": "PARALLEL-EmbN", "experiment": PARALLEL},
    {"row": 2, "method": "MULE full", "experiment": FULL},
]
TABLE: dict[str, Any] = {"columns": {"multi30k": ["en", "de"]}, "rows": ROWS}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with evaluations of two experiments; seed 1 finds five more images in a hundred."""
    project = copy_of_project(tmp_path)
    configure(project)
    for experiment, recalls in RECALLS.items():
        for seed in SEEDS:
            of_seed = {language: value + 5 * (seed == 1) for language, value in recalls.items()}
            evaluate(project, experiment, of_seed, seed)
    return project


def configure(project: Project, scale: str = "demo", **table: Any) -> None:
    project.configure(scale=scale, seeds=SEEDS, tables={"mine": {**TABLE, **table}})


def evaluate(
    project: Project, experiment: str, recalls: dict[str, float], seed: int, scale: str = "demo"
) -> Path:
    folder = project.folder / f"work/{scale}/multi30k/experiments/{experiment}/seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    key: Key = ("multi30k", experiment, "original", seed)
    (written,) = write_evaluations(folder, {key: recalls}, images=100)
    content = {**json.loads(written.read_text()), "ranks": "test-original-ranks.csv.gz"}
    shutil.move(folder / "0-ranks.csv.gz", folder / "test-original-ranks.csv.gz")
    (folder / "test-original.json").write_text(json.dumps(content))
    written.unlink()
    return folder


def tabulate(project: Project, target: str = "results/mine.csv") -> str:
    """Make a table and train nothing; the output of a failure."""
    done = project.snakemake("--cores", "1", target, "--allowed-rules", "tabulate", "compare")
    return "" if done.returncode == 0 else done.stdout


def table(project: Project, name: str = "mine") -> pd.DataFrame:
    return pd.read_csv(project.folder / f"results/{name}.csv")


def contents(project: Project) -> list[bytes]:
    return [(project.folder / "results" / name).read_bytes() for name in ("mine.csv", "comparison/mine.csv")]


def test_two_experiments_are_compared_over_three_seeds(project: Project) -> None:
    assert tabulate(project, f"results/compare/multi30k/{FULL}-vs-{PARALLEL}.csv") == ""
    found = table(project, f"compare/multi30k/{FULL}-vs-{PARALLEL}").set_index("language")
    assert list(found.index) == ["en", "de"]
    assert list(found["seeds"]) == ["0 1 2"] * 2
    assert found.loc["en", "difference"] == pytest.approx(20.0)
    assert found.loc["de", "difference"] == pytest.approx(1.0)
    assert found.loc["en", "p_holm"] < 0.05 < found.loc["de", "p_holm"]
    output = tabulate(project, f"results/compare/multi30k/mule-ful-vs-{PARALLEL}.csv")
    assert "no experiment 'mule-ful', did you mean 'mule-full'" in output


def test_only_some_rows_of_a_table(project: Project) -> None:
    assert tabulate(project, "results/mine-row2.csv") == ""
    assert list(table(project, "mine-row2")["method"]) == ["MULE full"]
    assert list(table(project, "mine-row2")["multi30k en"]) == [61.7]  # the mean of 60, 65 and 60
    assert not (project.folder / "results/mine.csv").exists()
    output = tabulate(project, "results/mine-row2+7.csv")
    assert "mine has no row 7" in output and "its rows are 1, 2" in output


def test_a_table_survives_failures_and_is_replaced_by_the_next_complete_one(project: Project) -> None:
    assert tabulate(project) == ""
    before = contents(project)
    evaluate(project, FULL, {"en": 50.0}, 0)  # German is missing
    for _ in range(2):
        output = tabulate(project)
        assert "multi30k mule-full original de, seed 0, is missing" in output
        assert contents(project) == before
    configure(project, rows=[*ROWS, *ROWS])
    assert "tables.mine.rows" in tabulate(project)
    configure(project)
    assert contents(project) == before
    evaluate(project, FULL, {"en": 50.0, "de": 35.0}, 0)
    assert tabulate(project) == ""
    assert list(table(project)["multi30k de"]) == [45.7, 43.3]  # the means of 44, 49, 44 and 35, 50, 45


def test_a_table_of_one_scale_never_passes_for_that_of_another(project: Project) -> None:
    """Even if nothing behind the other scale's table is newer than the file in results/."""
    assert tabulate(project) == ""
    for experiment in RECALLS:
        for seed in SEEDS:
            folder = evaluate(project, experiment, {"en": 70.0, "de": 55.0}, seed, "paper")
            for path in folder.iterdir():
                os.utime(path, (1, 1))
    for scale, expected in (("paper", [70.0, 70.0]), ("demo", [41.7, 61.7])):
        configure(project, scale)
        assert tabulate(project) == ""
        assert list(table(project)["multi30k en"]) == expected


def test_runs_with_names_have_folders_of_their_own(project: Project) -> None:
    assert tabulate(project) == ""
    before = contents(project)
    for name, english in (("day", 70.0), ("night", 30.0)):
        for experiment in RECALLS:
            for seed in SEEDS:
                evaluate(project, experiment, {"en": english, "de": 55.0}, seed, name)
        project.configure(scale="demo", name=name, seeds=SEEDS, tables={"mine": TABLE})
        assert tabulate(project, f"results/{name}/mine.csv") == ""
    for name, english in (("day", 70.0), ("night", 30.0)):
        found = table(project, f"{name}/mine")
        assert list(found["multi30k en"]) == [english] * 2 and set(found["scale"]) == {name}
    assert contents(project) == before


@pytest.mark.parametrize("way", ["-s", "module"])
def test_the_workflow_runs_from_another_folder_and_as_a_module(project: Project, way: str) -> None:
    elsewhere = Project(project.folder / "elsewhere")
    elsewhere.folder.mkdir()
    shutil.move(project.folder / "small.yaml", elsewhere.folder)
    (elsewhere.folder / "module.smk").write_text(
        'module retrieval:\n    snakefile: "../Snakefile"\n    config: config\n'
        "use rule * from retrieval as retrieval_*\n"
    )
    file = "../Snakefile" if way == "-s" else "module.smk"
    elsewhere.make("--snakefile", file, "results/parameters.csv", "work/demo/multi30k/tokens/de.csv")
    assert len(table(elsewhere, "parameters")) > 1
    assert not (project.folder / "results").exists()
