"""The real chain through Snakemake, on a few scenes: it runs, and an edit reruns what it must and no more."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from project import DEMO, Project, ready

# BERT and MUSE, and one model per language, in two languages; MULE in four.
TWO = {"languages": ["en", "de"]}
FEW: dict[str, Any] = {"embn": TWO, "bert-parallel-embn": TWO, "muse-full": TWO}
WITH_FEW: dict[str, Any] = {**DEMO, "experiments": FEW}
# A row of each kind in Table 2: a model per language, BERT, MUSE with LP, MULE with and without LP.
ROWS = [1, 4, 7, 9, 11]
MADE = f"results/table2-row{'+'.join(map(str, ROWS))}.csv"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with some rows of Table 2."""
    project = ready(tmp_path_factory.mktemp("project"), tmp_path_factory)
    project.configure(**WITH_FEW)
    project.make(MADE)
    return project


@pytest.fixture
def project(shared_project: Project) -> Iterator[Project]:
    """The finished project; edits of code and configuration are undone."""
    kept = shared_project.folder / ".kept"
    kept.mkdir()
    shutil.copytree(shared_project.folder / "pipeline", kept / "pipeline")
    yield shared_project
    shutil.rmtree(shared_project.folder / "pipeline")
    shutil.move(kept / "pipeline", shared_project.folder / "pipeline")
    kept.rmdir()
    shared_project.configure(**WITH_FEW)


def mean_recall(folder: Path, language: str) -> float:
    """mR in percent, computed plainly from the ranks of one experiment's test queries."""
    ranks = pd.read_csv(folder / "test-original-ranks.csv.gz").query("language == @language")
    of_way = [ranks.loc[ranks["direction"] == way, "rank"] for way in ("i2s", "s2i")]
    return float(100 * sum((rank <= k).mean() for rank in of_way for k in (1, 5, 10)) / 6)


def test_table_2_has_the_recalls_of_its_rows_experiments(shared_project: Project) -> None:
    table = pd.read_csv(shared_project.folder / MADE)
    assert set(table["scale"]) == {"demo"}
    rows = yaml.safe_load((shared_project.folder / "config" / "tables" / "table2.yaml").read_text())["rows"]
    assert len(rows) == 11
    rows = [row for row in rows if row["row"] in ROWS]
    assert len(table) == len(rows) == 5
    experiments = shared_project.folder / "work" / "demo" / "multi30k" / "experiments"
    comparison = pd.read_csv(shared_project.folder / MADE.replace("results", "results/comparison")).query(
        "metric == 'mR'"
    )
    for row, printed in zip(rows, table.to_dict("records"), strict=True):
        for language in ("en", "de", "fr", "cs"):
            if language not in FEW.get(row["experiment"], {}).get("languages", language):
                assert pd.isna(printed[f"multi30k {language}"])
                continue
            alone = experiments / f"{row['experiment']}-{language}"
            folder = alone if alone.exists() else experiments / row["experiment"]
            expected = mean_recall(folder / "seed0", language)
            compared = comparison.query("row == @row['row'] and language == @language")
            assert compared["measured"].item() == pytest.approx(expected, abs=1e-3), (row, language)
            assert printed[f"multi30k {language}"] == pytest.approx(expected, abs=0.0501), (row, language)


def test_nothing_reruns_without_a_change(shared_project: Project) -> None:
    assert shared_project.would_run(MADE) == {}


def test_an_edit_of_the_loss_reruns_training_and_what_follows(project: Project) -> None:
    project.edit("pipeline/models/losses/triplets.py", ".relu().sum(1)", ".relu().square().sum(1)")
    assert project.would_run(MADE) == {
        "pretrain": 2,
        "train": 6,
        "evaluate": 6,
        "tabulate": 1,
    }


def test_an_edit_of_the_recall_code_reruns_only_evaluation(project: Project) -> None:
    project.edit("pipeline/evaluation/ranks.py", "scores > best", "scores >= best")
    assert project.would_run(MADE) == {"evaluate": 6, "tabulate": 1}


def test_an_edit_of_a_comment_or_docstring_reruns_nothing(project: Project) -> None:
    project.edit("pipeline/models/losses/triplets.py", "Zeros count.", "Zeros do count.")
    project.edit("pipeline/evaluation/ranks.py", "PAIRS = 2", "# How many?\nPAIRS = 2")
    project.edit("pipeline/images/crops.py", "From a photograph's file", "From an image file")
    assert project.would_run(MADE) == {}


def test_a_changed_learning_rate_reruns_the_experiments_that_use_it(project: Project) -> None:
    faster = {"mule-nc": {"settings": {"training": {"learning_rate": 0.0005}}}}
    project.configure(**{**DEMO, "experiments": {**FEW, **faster}})
    assert project.would_run(MADE) == {"train": 1, "evaluate": 1, "tabulate": 1}
    project.configure(**WITH_FEW, pretraining={"epochs": 1, "learning_rate": 0.0005})
    jobs = project.would_run(MADE)
    assert jobs == {"pretrain": 2, "train": 2, "evaluate": 2, "tabulate": 1}


def test_a_second_seed_trains_only_what_is_new(project: Project) -> None:
    project.configure(**WITH_FEW, seeds=[0, 1])
    jobs = project.would_run(MADE)
    assert jobs == {"pretrain": 2, "train": 6, "evaluate": 6, "tabulate": 1}


def test_another_seed_of_bert_reruns_only_its_rows(project: Project) -> None:
    project.configure(**WITH_FEW, bert={"pretraining": {"seed": 1}})
    jobs = project.would_run(MADE)
    assert jobs == {
        "pretrain_bert": 1,
        "embed_captions": 2,
        "train": 1,
        "evaluate": 1,
        "tabulate": 1,
    }


def test_table_11_trains_only_what_table_2_lacks(shared_project: Project) -> None:
    two = shared_project.would_run("results/table2.csv", "--forceall")["train"]
    eleven = shared_project.would_run("results/table11.csv", "--forceall")["train"]
    assert shared_project.would_run("results/table11.csv")["train"] < eleven
    assert two == 12


def test_another_scale_touches_nothing_of_this_one(shared_project: Project) -> None:
    mirror = ["--config", "scale=flickr8k", "--", "work/flickr8k/multi30k/tokens/de.csv"]
    assert set(shared_project.would_run(*mirror)) == {"download", "split", "read_captions", "tokenize"}
    assert shared_project.would_run(MADE) == {}


def test_a_mistyped_key_is_one_clear_message(shared_project: Project) -> None:
    done = shared_project.snakemake("-n", "results/table2.csv", "--config", "trainig=1")
    assert done.returncode == 1
    assert "unknown key 'trainig', did you mean 'training'?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_scale_paper_reports_what_is_missing(shared_project: Project) -> None:
    done = shared_project.snakemake("-n", "results/table2.csv", "--config", "scale=paper")
    assert done.returncode == 1
    assert "flickr30k-photographs is given on request" in done.stdout + done.stderr


def test_bad_features_stop_the_run_with_their_message_and_touch_no_table(project: Project) -> None:
    table = project.folder / MADE
    features = project.folder / "work" / "demo" / "multi30k" / "features.h5"
    before, whole = table.read_bytes(), features.read_bytes()
    kept = features.with_suffix(".kept")
    features.rename(kept)  # with its stored digest, which would notice first
    features.write_bytes(whole[: len(whole) // 2])
    try:
        done = project.snakemake("--cores", "2", MADE)
    finally:
        kept.replace(features)
    assert done.returncode == 1
    assert "not a whole HDF5 file" in done.stdout + done.stderr
    assert table.read_bytes() == before


def test_a_report_is_made_from_finished_results(project: Project) -> None:
    """test_pages.py, which `make test` leaves out, tests what it shows, also in a browser."""
    rows = [{"row": 11, "method": "MULE EmbN - Full", "experiment": "mule-full"}]
    table = {"paper": "mule", "table": 2, "columns": {"multi30k": ["en", "de", "fr", "cs"]}, "rows": rows}
    project.configure(**WITH_FEW, tables={"mine": table}, report=["mine"])
    jobs = project.would_run("results/report.html")
    assert jobs["train"] == 1  # PARALLEL-EmbN, which the figures compare with
    assert {"judge_claims", "draw_retrieved", "write_report"} <= jobs.keys()
    project.make("results/report.html")
    text = (project.folder / "results/report.html").read_text(encoding="utf-8")
    printed = pd.read_csv(project.folder / "results/mine.csv")["multi30k fr"].item()
    assert re.search(rf'id="mine".*{printed:.1f}', text, re.DOTALL)
    assert 'id="claims"' in text
