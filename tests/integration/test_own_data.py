"""A user's own images and captions, with the configuration that docs/own-data.md shows."""

import csv
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from PIL import Image
from project import ROOT, Project, copy_of_project

pytestmark = pytest.mark.integration

COLOURS = {"red": "mwekundu", "green": "kijani", "blue": "bluu", "white": "mweupe", "black": "mweusi"}
SHAPES = {"square": "mraba", "bar": "upau"}


def write_own_data(folder: Path) -> None:
    """Sixty images of one shape each, with captions in English and Swahili."""
    (folder / "images" / "some").mkdir(parents=True)
    with open(folder / "captions.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "language", "caption"])
        for number in range(6):
            for colour, rangi in COLOURS.items():
                for shape, umbo in SHAPES.items():
                    name = f"{colour}-{shape}-{number}.png"
                    image = Image.new("RGB", (90 + number, 80), "grey")
                    width = 40 if shape == "square" else 8
                    image.paste(colour, (20 + number, 20, 20 + number + width, 60))
                    image.save(folder / "images" / ("some" if number % 2 else "") / name)
                    writer.writerow([name, "en", f"a {colour} {shape}"])
                    writer.writerow([name, "sw", f"{umbo} {rangi}"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_of_project(tmp_path_factory.mktemp("own"))
    write_own_data(project.folder / "mine")
    page = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    project.configure(**yaml.safe_load(block))
    return project


def test_own_data_train_evaluate_and_tabulate(project: Project) -> None:
    project.make("results/shapes.csv")
    table = pd.read_csv(project.folder / "results" / "shapes.csv")
    assert list(table["method"]) == ["EmbN", "PARALLEL-EmbN", "MULE full"]
    assert table[["shapes en", "shapes sw"]].notna().all(axis=None)
    numbers = pd.read_csv(project.folder / "results" / "comparison" / "shapes.csv")
    assert numbers["measured"].between(0, 100).all()
    assert numbers["paper"].isna().all()
    split = pd.read_csv(project.folder / "work" / "demo" / "shapes" / "split.csv")
    assert split["split"].value_counts().to_dict() == {"test": 6, "train": 48, "val": 6}


def test_gaps_and_small_test_sets_are_reported_before_anything_runs(project: Project) -> None:
    table = project.folder / "mine" / "captions.csv"
    whole = table.read_text(encoding="utf-8")
    try:
        assert "warning: datasets.shapes: fewer than 50 test images (en 6, sw 6)" in dry_run(project)
        split = pd.read_csv(project.folder / "work" / "demo" / "shapes" / "split.csv", index_col="image")
        tested = split.index[split["split"] == "test"]
        lines = whole.splitlines(keepends=True)
        kept = [line for line in lines if ",sw," not in line or line.split(".")[0] not in set(tested)]
        table.write_text("".join(kept), encoding="utf-8")
        output = dry_run(project)
        assert "error: Captions of your own do not cover every split:" in output
        assert "datasets.shapes: sw: no test image has a caption (found 48 train, 6 val, 0 test)" in output
    finally:
        table.write_text(whole, encoding="utf-8")


def dry_run(project: Project) -> str:
    return project.snakemake("-n", "results/shapes.csv").stdout


def test_a_mistyped_path_is_an_error_even_if_older_results_exist(project: Project) -> None:
    target = "work/demo/shapes/tokens/sw.csv"
    project.make(target)
    before = (project.folder / "small.yaml").read_text()
    project.edit("small.yaml", "mine/captions.csv", "mine/capt1ons.csv")
    project.edit("small.yaml", "mine/images", "mine/pictures")
    try:
        done = project.snakemake("-n", target)
    finally:
        (project.folder / "small.yaml").write_text(before)
    assert done.returncode == 1
    assert "datasets.shapes.captions: mine/capt1ons.csv: not there" in done.stdout
    assert "datasets.shapes.images: mine/pictures: not there" in done.stdout
    assert "Nothing to be done" not in done.stdout
    assert "Traceback" not in done.stdout
    assert project.would_run(target) == {}


def test_photographs_next_to_archives_are_refused_and_a_single_archive_is_unpacked(project: Project) -> None:
    """The archives would be used, and changed photographs in the folder would not."""
    mine = project.folder / "mine"
    shutil.make_archive(str(mine / "images" / "earlier"), "zip", mine / "images" / "some")
    output = dry_run(project)
    assert "datasets.shapes.images: mine/images has archives, such as mine/images/earlier.zip, and" in output
    (mine / "apart").mkdir()
    (mine / "images" / "earlier.zip").rename(mine / "apart" / "earlier.zip")
    project.edit("small.yaml", "mine/images", "mine/apart")
    assert project.would_run("results/shapes.csv")["unpack"] == 1
    project.edit("small.yaml", "mine/apart", "mine/images")
    assert "unpack" not in project.would_run("results/shapes.csv")


def test_unpublished_vectors_are_an_error_even_if_older_ones_exist(project: Project) -> None:
    target = "work/demo/shapes/words/human/sw.h5"
    project.make(target)
    done = project.snakemake("-n", target, "--config", "words={vectors: file}")
    assert done.returncode == 1
    assert "workflow/sources.csv has no published vectors" in done.stdout
    assert "Nothing to be done" not in done.stdout
    assert "Traceback" not in done.stdout


def test_the_caption_file_is_named_with_all_its_mistakes(project: Project) -> None:
    path = project.folder / "mine" / "captions.csv"
    before = path.read_bytes()
    path.write_bytes(before + b"a.png,english,a dog\nb.png,en,\n")
    try:
        done = project.snakemake("--cores", "1", "work/demo/shapes/captions/en.csv")
    finally:
        path.write_bytes(before)
    assert done.returncode == 1
    output = done.stdout + done.stderr
    assert "two-letter code" in output
    assert "caption is empty" in output


def test_with_a_custom_split_each_languages_file_is_read_only_for_it(project: Project) -> None:
    table = pd.read_csv(project.folder / "mine" / "captions.csv")
    for language, rows in table.groupby("language"):
        rows.to_csv(project.folder / "mine" / f"{language}.csv", index=False)
    project.make("work/demo/shapes/split.csv")
    shutil.copy(project.folder / "work/demo/shapes/split.csv", project.folder / "mine" / "split.csv")
    told = yaml.safe_load((project.folder / "small.yaml").read_text())
    told["datasets"]["shapes"] |= {"captions": "mine/{language}.csv", "split": "mine/split.csv"}
    project.configure(**told)
    targets = ["work/demo/shapes/images.csv", *(f"work/demo/shapes/tokens/{x}.csv" for x in ("en", "sw"))]
    project.make(*targets)
    assert project.would_run(*targets) == {}
    project.edit("mine/sw.csv", "mraba mwekundu", "mraba mwekundu sana")
    assert project.would_run(*targets) == {"read_captions": 1, "tokenize": 1}


def test_words_are_counted_in_custom_captions_that_stand_for_multi30k(project: Project) -> None:
    own = pd.read_csv(project.folder / "mine" / "captions.csv").query("language == 'en'")
    three = pd.concat([own.assign(language=language) for language in ("en", "de", "cs")])
    three.to_csv(project.folder / "mine" / "three.csv", index=False)
    mine = "{source: custom, captions: mine/three.csv, images: mine/images, languages: [en, de, cs]}"
    done = project.snakemake(
        "-n", "-p", "results/lessons/table1.csv", "--config", f"datasets={{multi30k: {mine}}}"
    )
    assert done.returncode == 0, done.stdout
    (command,) = re.findall(
        r"^Shell command: (python -m pipeline measure-vocabulary-overlap .*)", done.stdout, re.M
    )
    read = re.findall(r"\w\w=\S+", command)
    tokens = "work/demo/multi30k/tokens"
    assert read == [f"{code}={tokens}/{code}.csv" for code in ("en", "de", "cs", "en", "de")]
