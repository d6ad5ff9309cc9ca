"""results/context.csv by the real Snakemake: frozen models on the tables' test splits, but in no table."""

import os
import shutil

import pandas as pd
import pytest
from frozen import write_model
from project import Project, copy_of_project

pytestmark = [pytest.mark.integration, pytest.mark.extended]

COLUMNS = {"multi30k": ["en", "de"]}
ROWS = [{"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"}]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a model of the real architecture in a folder next to it; nothing is made yet."""
    made = copy_of_project(tmp_path_factory.mktemp("project"))
    write_model("AltCLIP", made.folder / "clips" / "small")
    return made


def configure(project: Project, *models: str) -> None:
    table = {"columns": COLUMNS, "rows": ROWS}
    project.configure(
        scale="demo",
        sources={"scenes": 36},
        datasets={"multi30k": {"languages": ["en", "de"]}},
        tables={"mine": table},
        report=["mine"],
        context=list(models),
    )


def test_a_configuration_without_a_model_is_one_clear_message(project: Project) -> None:
    configure(project)
    done = project.snakemake("-n", "results/context.csv")
    assert done.returncode == 1
    assert "results/context.csv: `context` names no model." in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["clips/smal"], "context.0: clips/smal: not there, expected a folder; did you mean clips/small?"),
        (["clips"], "context.0: ./clips: has no config.json"),
        (["clips/small", "./copy/small"], "./copy/small would be called small, as clips/small is"),
        (
            ["$NO_SUCH_VARIABLE/clip"],
            "$NO_SUCH_VARIABLE/clip: the environment variable is not set",
        ),
    ],
)
def test_a_folder_without_a_model_is_named_at_once(project: Project, models: list[str], message: str) -> None:
    if models == ["clips"]:
        models = ["./clips"]
    configure(project, *models)
    done = project.snakemake("-n", "results/context.csv")
    assert done.returncode == 1
    assert message in done.stdout
    assert "Traceback" not in done.stdout


def test_a_model_that_cannot_be_loaded_stops_the_call_before_anything_runs(project: Project) -> None:
    broken = project.folder / "clips" / "broken"
    shutil.copytree(project.folder / "clips" / "small", broken)
    whole = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    configure(project, "clips/small", "clips/broken")
    done = project.snakemake("--cores", "1", "results/context.csv")
    assert done.returncode == 1
    assert (
        "Models of `context` that cannot be used:\n  - clips/broken: neither a folder of a whole"
        in done.stdout
    )
    assert "Traceback" not in done.stdout
    assert not (project.folder / "work" / "demo").exists()
    assert not list((project.folder / ".snakemake" / "locks").glob("*"))


def test_context_has_the_tables_languages_and_is_in_no_table(project: Project) -> None:
    configure(project, "clips/small")
    project.make("results/context.csv", "results/mine.csv", "results/report.html")
    folder = project.folder
    found = pd.read_csv(folder / "results" / "context.csv")
    assert found[["model", "scale", "dataset", "language"]].to_numpy().tolist() == [
        ["small", "demo", "multi30k", language] for language in ("en", "de")
    ]
    compared = (
        pd.read_csv(folder / "results/comparison/mine.csv").query("metric == 'mR'").set_index("language")
    )
    for row in found.to_dict("records"):  # the same candidates as the table's
        among = compared.loc[row["language"]]
        assert (row["images"], row["sentences"]) == (among["images"], among["sentences"])
        assert row["chance_mR"] == pytest.approx(among["chance"], abs=1e-3)
    assert (folder / "results/demo/context.csv").read_bytes() == (folder / "results/context.csv").read_bytes()
    assert "small" not in (folder / "results" / "mine.csv").read_text()
    report = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert report.count('<td role="cell" data-label="Model" class="">small</td>') == 2
    assert "python -m search serve work/demo/multi30k/experiments/parallel-embn/seed0/index" in report
    assert project.would_run("results/context.csv") == {}


def test_a_photograph_that_is_overwritten_is_embedded_again(project: Project) -> None:
    """Runs after the test above, on what it made."""
    listed = pd.read_csv(project.folder / "work/demo/multi30k/images.csv")
    photograph = project.folder / listed["path"].iloc[0]
    before = photograph.stat()
    os.utime(photograph, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert project.would_run("results/context.csv")["evaluate_clip"] == 1
    os.utime(photograph, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.would_run("results/context.csv") == {}


def test_another_model_computes_only_its_own_rows_and_a_changed_model_is_computed_again(
    project: Project,
) -> None:
    """Runs after the test above, on what it made."""
    shutil.copytree(project.folder / "clips" / "small", project.folder / "clips" / "other")
    configure(project, "clips/small", "clips/other")
    jobs = project.would_run("results/context.csv")
    assert jobs == {"evaluate_clip": 1, "tabulate_clip": 1, "publish_file": 2}
    configure(project, "clips/small")
    shutil.rmtree(project.folder / "clips" / "small")
    write_model("SigLIP", project.folder / "clips" / "small")
    jobs = project.would_run("results/context.csv")
    assert jobs == {"evaluate_clip": 1, "tabulate_clip": 1, "publish_file": 2}
    assert set(project.would_run("results/mine.csv")) == set()
