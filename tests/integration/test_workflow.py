"""The whole chain through Snakemake: tables have the numbers of their models, and bad inputs stop it."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from project import FINISHED, TABLES, TWO_LANGUAGES, Project, copy_of, finished

from pipeline.datasets.split import read_split
from pipeline.settings.merge import merge

pytestmark = pytest.mark.integration

WORK = "work/demo/multi30k"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory)


def mean_recall(ranks: Path, language: str) -> float:
    """mR in percent, computed plainly from the ranks of one experiment's test queries."""
    found = pd.read_csv(ranks).query("language == @language")
    of_way = [found.loc[found["direction"] == way, "rank"] for way in ("i2s", "s2i")]
    return float(100 * sum((rank <= k).mean() for rank in of_way for k in (1, 5, 10)) / 6)


def assert_recalls_of_experiments(project: Project, name: str, rows: list[dict[str, Any]]) -> None:
    """Check that each row of a table has the recalls of its experiment."""
    table = pd.read_csv(project.folder / f"results/{name}.csv")
    compared = pd.read_csv(project.folder / f"results/comparison/{name}.csv").query("metric == 'mR'")
    compared = compared.set_index(["row", "language"])["measured"]
    assert set(table["scale"]) == {"demo"}
    for row, printed in zip(rows, table.to_dict("records"), strict=True):
        kind = row.get("queries", row.get("consistency", "original"))
        folder = project.folder / WORK / "experiments" / row["experiment"] / "seed0"
        for language in TWO_LANGUAGES:
            queries = "original" if kind == "translated" and language == "en" else kind
            expected = mean_recall(folder / f"test-{queries}-ranks.csv.gz", language)
            assert compared[row["row"], language] == pytest.approx(expected, abs=1e-3), (row, language)
            assert printed[f"multi30k {language}"] == pytest.approx(expected, abs=0.0501), (row, language)


def test_each_row_has_the_recalls_of_its_experiment(project: Project) -> None:
    assert_recalls_of_experiments(project, "small", FINISHED["tables"]["small"]["rows"])


@pytest.mark.slow
def test_rows_of_frozen_sentence_vectors_and_aligned_words(project: Project, tmp_path: Path) -> None:
    """BERT is pretrained here."""
    more = copy_of(project, tmp_path / "copy")
    rows = [
        {"row": 1, "method": "BERT PARALLEL-EmbN", "experiment": "bert-parallel-embn"},
        {"row": 2, "method": "MUSE EmbN - Full", "experiment": "muse-full"},
    ]
    table = {"columns": {"multi30k": TWO_LANGUAGES}, "rows": rows}
    experiments = {str(row["experiment"]): {"languages": TWO_LANGUAGES} for row in rows}
    more.configure(**merge(FINISHED, {"tables": {"frozen": table}, "experiments": experiments}))
    more.make("results/frozen.csv")
    assert_recalls_of_experiments(more, "frozen", rows)


def test_halves_of_lessons_are_shared_in_the_text_and_separate_for_each_language_in_the_code(
    project: Project,
) -> None:
    def trained_on(experiment: str, language: str) -> set[str]:
        table = pd.read_csv(project.folder / WORK / f"selected/{experiment}/{language}.csv", dtype=str)
        return set(table.query("split == 'train'")["image"])

    english, german = (trained_on("bi-disjoint", language) for language in ("en", "de"))
    training = {
        image for image, split in read_split(project.folder / WORK / "split.csv").items() if split == "train"
    }
    assert english | german == training and abs(len(english) - len(german)) <= 1
    assert not english & german
    own = trained_on("bi-overlap-c2c-as-code", "de")
    assert own not in (english, german) and own != trained_on("bi-overlap-c2c-as-code", "en")


def test_nothing_reruns_without_a_change(project: Project) -> None:
    assert project.would_run(*TABLES, "results/report.html") == {}


def test_a_mistyped_key_is_one_clear_message(project: Project) -> None:
    done = project.snakemake("-n", "results/small.csv", "--config", "trainig=1")
    assert done.returncode == 1
    assert "trainig" in done.stdout and "did you mean" in done.stdout
    assert "Traceback" not in done.stdout


def test_bad_features_stop_the_run_with_their_message_and_touch_no_table(
    project: Project, tmp_path: Path
) -> None:
    damaged = copy_of(project, tmp_path / "copy")
    features, table = damaged.folder / WORK / "features.h5", damaged.folder / "results/small.csv"
    before = table.read_bytes()
    features.write_bytes(features.read_bytes()[:5000])
    done = damaged.snakemake("--cores", "1", "results/small.csv")
    assert done.returncode == 1
    assert "error: " in done.stdout and "features.h5" in done.stdout
    assert table.read_bytes() == before
