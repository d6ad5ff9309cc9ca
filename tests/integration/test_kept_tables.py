"""A finished table is replaced only by a complete new one, whatever fails."""

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

FOLDER = "work/{scale}/multi30k/experiments/mule-full/seed0"
ROWS = [{"row": 1, "method": "MULE full", "experiment": "mule-full"}]
TABLE: dict[str, Any] = {"columns": {"multi30k": ["en", "de"]}, "rows": ROWS}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose table is finished; its evaluation is written by hand."""
    project = copy_of_project(tmp_path)
    project.configure(scale="demo", tables={"mine": TABLE})
    evaluate(project, {"en": 40.0, "de": 30.0})
    assert tabulate(project)[0] == 0
    return project


def evaluate(project: Project, recalls: dict[str, float], scale: str = "demo") -> None:
    test: dict[Key, dict[str, float]] = {("multi30k", "mule-full", "original", 0): recalls}
    folder = project.folder / FOLDER.format(scale=scale)
    folder.mkdir(parents=True, exist_ok=True)
    (written,) = write_evaluations(folder, test)
    content = {**json.loads(written.read_text()), "ranks": "test-original-ranks.csv.gz"}
    shutil.move(folder / "0-ranks.csv.gz", folder / "test-original-ranks.csv.gz")
    (folder / "test-original.json").write_text(json.dumps(content))
    written.unlink()


def tabulate(project: Project, *arguments: str) -> tuple[int, str]:
    """Make the table from the existing evaluation, and train nothing."""
    allowed = ["--allowed-rules", "tabulate"]
    done = project.snakemake("--cores", "1", "results/mine.csv", *arguments, *allowed)
    return done.returncode, done.stdout


def published_files(project: Project) -> dict[str, bytes]:
    return {
        name: (project.folder / "results" / name).read_bytes() for name in ("mine.csv", "comparison/mine.csv")
    }


def test_a_table_survives_evaluations_that_fail_and_is_replaced_by_the_next_complete_one(
    project: Project,
) -> None:
    before = published_files(project)
    evaluate(project, {"en": 50.0})  # German is missing
    for _ in range(2):
        status, output = tabulate(project)
        assert status == 1
        assert "evaluations are missing" in output and "multi30k mule-full 0 original" in output
        assert published_files(project) == before
    evaluate(project, {"en": 50.0, "de": 35.0})
    assert tabulate(project)[0] == 0
    after = published_files(project)
    assert b"50.0" in after["mine.csv"] and b"50.0" not in before["mine.csv"]
    assert tabulate(project)[1].count("Nothing to be done") == 1


def test_a_table_survives_an_invalid_definition_and_a_broken_stage(project: Project) -> None:
    before = published_files(project)
    project.configure(scale="demo", tables={"mine": {**TABLE, "rows": [*ROWS, *ROWS]}})
    status, output = tabulate(project)
    assert status == 1
    assert "tables.mine.rows.1.row: found 1, which is also the number of rows.0" in output
    project.configure(scale="demo", tables={"mine": TABLE})
    project.edit("pipeline/tables/tabulate.py", "def tabulate(", "1 / 0\n\n\ndef tabulate(")
    assert tabulate(project)[0] == 1
    assert published_files(project) == before


def test_a_table_of_one_scale_never_passes_for_that_of_another(project: Project) -> None:
    """Even if nothing behind the other scale's table is newer than the file in results/."""
    evaluate(project, {"en": 60.0, "de": 55.0}, "paper")
    for path in (project.folder / FOLDER.format(scale="paper")).iterdir():
        os.utime(path, (1, 1))
    project.configure(scale="paper", tables={"mine": TABLE})
    assert tabulate(project)[0] == 0
    assert list(pd.read_csv(project.folder / "results/mine.csv")["multi30k en"]) == [60.0]
    project.configure(scale="demo", tables={"mine": TABLE})
    assert tabulate(project)[0] == 0
    assert list(pd.read_csv(project.folder / "results/mine.csv")["multi30k en"]) == [40.0]
