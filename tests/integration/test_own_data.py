"""A user's own images and captions, with the configuration that docs/own-data.md shows."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from project import ROOT, Project, copy_of, finished

pytestmark = pytest.mark.integration

(BLOCK,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8"), re.S)
SPLIT = "work/demo/shapes/split.csv"


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the finished project, whose own data have the names of the page, with the page's settings."""
    project = copy_of(finished(tmp_path_factory), tmp_path / "project")
    project.configure(**yaml.safe_load(BLOCK))
    return project


def dry_run(project: Project, *arguments: str) -> str:
    return project.snakemake("-n", "results/shapes.csv", *arguments).stdout


def test_own_data_have_been_trained_on_and_evaluated(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = finished(tmp_path_factory)
    numbers = pd.read_csv(made.folder / "results/comparison/own.csv")
    assert numbers["measured"].notna().all()
    assert numbers["paper"].isna().all()
    split = pd.read_csv(made.folder / SPLIT)
    assert split["split"].value_counts().to_dict() == {"train": 10, "val": 1, "test": 1}


def test_the_pages_configuration_plans_its_rows(project: Project) -> None:
    output = dry_run(project)
    assert re.search(r"^train +4$", output, re.M)  # EmbN in two languages


def test_gaps_are_reported_before_anything_runs(project: Project) -> None:
    table = project.folder / "mine" / "captions.csv"
    split = pd.read_csv(project.folder / SPLIT, index_col="image")["split"]
    (tested,) = split.index[split == "test"]
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(line for line in lines if not re.match(rf"{tested}\.\w+,sw,", line)))
    output = dry_run(project)
    assert "datasets.shapes: sw: no test image has a caption (found 10 train, 1 val, 0 test)" in output


def test_a_mistyped_path_is_an_error_even_if_older_results_exist(project: Project) -> None:
    target = "work/demo/shapes/tokens/sw.csv"
    project.edit("small.yaml", "mine/captions.csv", "mine/capt1ons.csv")
    project.edit("small.yaml", "mine/images", "mine/pictures")
    done = project.snakemake("-n", target)
    assert done.returncode == 1
    assert "mine/capt1ons.csv" in done.stdout and "mine/pictures" in done.stdout
    assert "Nothing to be done" not in done.stdout and "Traceback" not in done.stdout


def test_archives_are_unpacked_unless_photographs_are_next_to_them(project: Project) -> None:
    """The photographs may have been changed since."""
    mine = project.folder / "mine"
    (mine / "apart").mkdir()
    archive = Path(shutil.make_archive(str(mine / "apart" / "earlier"), "zip", mine / "images"))
    shutil.copy(archive, mine / "images")
    assert "unpack" not in project.would_run("results/shapes.csv")
    project.edit("small.yaml", "mine/images", "mine/apart")
    assert project.would_run("results/shapes.csv")["unpack"] == 1


def test_with_a_custom_split_each_languages_file_is_read_only_for_it(project: Project) -> None:
    mine = project.folder / "mine"
    for language, rows in pd.read_csv(mine / "captions.csv").groupby("language"):
        rows.to_csv(mine / f"{language}.csv", index=False)
    shutil.copy(project.folder / SPLIT, mine / "split.csv")
    settings = yaml.safe_load(BLOCK)
    settings["datasets"]["shapes"] |= {"captions": "mine/{language}.csv", "split": "mine/split.csv"}
    project.configure(**settings)
    targets = [f"work/demo/shapes/tokens/{language}.csv" for language in ("en", "sw")]
    project.make(*targets)
    project.edit("mine/sw.csv", "mraba mwekundu", "mraba mwekundu sana")
    assert project.would_run(*targets) == {"read_captions": 1, "tokenize": 1}
