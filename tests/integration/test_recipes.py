"""The recipes of two pages and the commands of the README, run as written, on a smaller demo."""

import re
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from PIL import Image
from project import ROOT, SMALL, Project, copy_of_project

from pipeline.common.block import Block
from pipeline.models.losses.loss import Slotted
from pipeline.settings.merge import merge

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGES = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("extending.md", "cluster.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = {
    title: blocks
    for page in PAGES
    for title, *body in (section.split("\n", 1) for section in re.split(r"^## ", page, flags=re.M)[1:])
    if (blocks := re.findall(r"^```(\w+)\n(.*?)^```", body[0], re.M | re.S))
}
TINY: dict[str, Any] = merge(SMALL, {"sources": {"scenes": 60}, "experiments": {}})


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose demo is small without a configuration file, and its first recipe's results."""
    project = copy_of_project(tmp_path_factory.mktemp("recipes"))
    path = project.folder / "config" / "scales" / "demo.yaml"
    small = merge(yaml.safe_load(path.read_text()), TINY)
    path.write_text(yaml.safe_dump(small, sort_keys=False))  # their order is part of what stages depend on
    follow(project, "Run one row only")
    return project


def follow(project: Project, title: str) -> str:
    """Write the files, apply the changes and run the commands of a recipe; returns their output."""
    output = ""
    for kind, text in SECTIONS[title]:
        if kind in ("yaml", "python"):
            path = project.folder / text.split("\n")[0].removeprefix("# ")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif kind == "diff":
            # --recount and one line of context: other lines of the file may have moved.
            output += run(project, ["git", "apply", "--recount", "-C1", "-"], text)
        elif kind == "bash":
            output += run(project, ["bash", "-euc", text])
    return output


def run(project: Project, command: list[str], given: str = "") -> str:
    done = subprocess.run(
        command,
        cwd=project.folder,
        input=given,
        env={**project.environment, "GIT_CEILING_DIRECTORIES": "/"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def touched_files(project: Project, title: str) -> tuple[list[str], list[str]]:
    """Follow a recipe; the files that it added to the project's code and tables, and those that it edited."""
    before = contents(project)
    follow(project, title)
    after = contents(project)
    edited = [path for path, text in after.items() if before.get(path, text) != text]
    return [path for path in after if path not in before], edited


def contents(project: Project) -> dict[str, bytes]:
    """The files of the project's code, workflow and configuration."""
    return {
        str(path.relative_to(project.folder)): path.read_bytes()
        for part in ("pipeline", "search", "workflow", "config", "profiles", "Snakefile")
        for path in sorted([project.folder / part, *(project.folder / part).rglob("*")])
        if path.is_file() and path.suffix != ".pyc" and path.name != "sources.lock"
    }


def jobs(output: str) -> dict[str, int]:
    """Jobs by rule that the last dry run of an output announced."""
    listed = output[output.rindex("Job stats") :]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", listed, re.M)}


def evaluation(project: Project, experiment: str) -> Path:
    return project.folder / "work/demo/multi30k/experiments" / experiment / "seed0" / "test-original.json"


def terms(project: Project, experiment: str) -> set[str]:
    """Columns of an experiment's training curve."""
    return set(pd.read_csv(evaluation(project, experiment).parent / "curves.csv").columns)


def test_one_row_is_trained_and_evaluated(finished_project: Project) -> None:
    assert evaluation(finished_project, "parallel-embn").exists()
    assert [path.name for path in evaluation(finished_project, "x").parents[1].parent.iterdir()] == [
        "parallel-embn"
    ]


def test_a_row_is_added_to_a_table(finished_project: Project) -> None:
    assert jobs(follow(finished_project, "Add a table row"))["train"] == 2
    whole = ["snakemake", "-n", "results/table2.csv"]
    with_row, without = (
        jobs(run(finished_project, [*whole, "--configfile", "row.yaml"])),
        jobs(run(finished_project, whole)),
    )
    assert with_row["train"] == without["train"] + 1
    assert with_row["evaluate"] == without["evaluate"] + 1


def test_two_settings_are_compared_over_three_seeds(finished_project: Project) -> None:
    follow(finished_project, "Compare two settings over three seeds")
    curves = (finished_project.folder / "work/demo/multi30k/experiments/mule-embn").glob("seed*/curves.csv")
    assert ["val_mR" in pd.read_csv(path) for path in curves] == [True] * 3
    results = finished_project.folder / "results"
    means = pd.read_csv(results / "margins.csv").set_index("method")
    paired = pd.read_csv(results / "compare" / "multi30k" / "wide-margin-vs-mule-embn.csv")
    assert list(paired["language"]) == ["en", "de", "fr", "cs"]
    assert set(paired["seeds"]) == {"0 1 2"}
    assert ((paired["low"] <= paired["difference"]) & (paired["difference"] <= paired["high"])).all()
    for row in paired.itertuples():
        assert row.first == pytest.approx(means.loc["margin 0.2", f"multi30k {row.language}"], abs=0.051)
        assert row.second == pytest.approx(means.loc["margin 0.05", f"multi30k {row.language}"], abs=0.051)


def found_images(project: Project, output: str) -> list[str]:
    """The images that a retrieval printed after their scores, the best one first."""
    found = re.findall(r"^(-?[01][.]\d{3}) (\S+)$", output, re.M)
    assert [score for score, _ in found] == sorted((score for score, _ in found), key=float, reverse=True)
    split = pd.read_csv(project.folder / "work/demo/multi30k/split.csv").set_index("image")["split"]
    assert set(split[[image for _, image in found]]) == {"test"}
    return [image for _, image in found]


def test_the_example_of_the_readme_retrieves_images(finished_project: Project) -> None:
    """With the index that `make search` makes."""
    run(finished_project, ["snakemake", f"{searched_by_make()}/index.h5"])
    (example,) = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    assert len(found_images(finished_project, run(finished_project, ["python", "-c", example]))) == 5


def searched_by_make() -> str:
    found: list[str] = re.findall(
        r"^SEARCHED := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M
    )
    return found[0]


def test_the_commands_of_the_readme_are_planned(finished_project: Project) -> None:
    commands = re.findall(r"^    (snakemake -n [^#\n]*[^# \n])", README, re.M)
    assert len(commands) == 3
    for command in commands:
        if "scale=paper" in command:
            output = run(finished_project, ["bash", "-uc", f"{command} || true"])
            assert "is given on request" in output
        else:
            assert jobs(run(finished_project, shlex.split(command)))["train"] > 1


def test_a_loss_is_added_and_computes_what_it_says(finished_project: Project) -> None:
    """Two captions of the first of two images; logits 2 and 0: -log(e^2 / (e^2 + 1))."""
    before = jobs(run(finished_project, ["snakemake", "-n", "results/table2.csv"]))
    added, edited = touched_files(finished_project, "Add a loss")
    assert (added, edited) == (["pipeline/models/losses/contrastive.py"], ["pipeline/models/settings.py"])
    assert {"matching", "contrastive"} <= terms(finished_project, "mule-contrastive")
    assert (
        jobs(run(finished_project, ["snakemake", "-n", "results/table2.csv"])) == before
    )  # no model is trained again
    code = (finished_project.folder / "pipeline/models/losses/contrastive.py").read_text(encoding="utf-8")
    made: dict[str, Any] = {"Contrastive": Block}
    exec(code.replace("from pipeline.models.settings import Contrastive\n", ""), made)
    loss = made["ContrastiveLoss"](SimpleNamespace(weight=0.5, temperature=0.5), SimpleNamespace())
    captions = Slotted(torch.eye(2)[[0, 0, 1]], torch.tensor([0, 0, 1]))
    batch = SimpleNamespace(images_and_captions=lambda: (Slotted(torch.eye(2), torch.arange(2)), [captions]))
    assert float(loss.terms(batch)["contrastive"]) == pytest.approx(0.5 * 0.1269280110429725)


def test_a_branch_is_added(finished_project: Project) -> None:
    follow(finished_project, "Add a sentence branch")
    assert {"matching", "neighborhood", "classifier"} <= terms(finished_project, "mule-max")


def test_a_language_is_added(finished_project: Project) -> None:
    output = follow(finished_project, "Add a language")
    assert "dataset=multi30k,language=ja" in output
    assert "extract_features" not in jobs(output)
    assert jobs(output)["read_captions"] == 1


def market(images: Path, language: str, words: list[str]) -> list[tuple[str, str, str, str]]:
    """Photographs of noise; image, split, language and caption, in English and another language."""
    draw = np.random.default_rng(0)
    images.mkdir(parents=True)
    rows = []
    for number in range(30):
        name = f"market{number:02d}"
        Image.fromarray(draw.integers(0, 255, (80, 90, 3), np.uint8)).save(images / f"{name}.jpg")
        split = "train" if number < 18 else "val" if number < 24 else "test"
        english = " ".join(draw.permutation(["red", "fish", "man", "boat", "bread"])[:3])
        other = draw.permutation(words)[:3]
        rows += [(name, split, "en", english)]
        rows += [(name, split, language, " ".join(other))]
    return rows


def trained_row(project: Project, table: str, dataset: str, language: str) -> None:
    """Check that a table has the recipe's only row, with recalls in both languages."""
    (row,) = pd.read_csv(project.folder / "results" / f"{table}.csv").to_dict("records")
    assert row["method"] == "PARALLEL-EmbN"
    assert all(0 <= row[f"{dataset} {code}"] <= 100 for code in ("en", language))
    trained = project.folder / f"work/demo/{dataset}/experiments/parallel-embn/seed0"
    assert {"matching", "val_mR_en", f"val_mR_{language}"} <= set(pd.read_csv(trained / "curves.csv").columns)


def test_a_data_set_is_a_module_and_rows_of_the_table_of_sources(finished_project: Project) -> None:
    """It leads to a trained row, with the file copied from a mirror; a malformed line is named."""
    rows = market(finished_project.folder / "photographs", "da", ["rød", "fisk", "mand", "båd", "brød"])
    published = finished_project.folder / "mirror/example.org/market/captions.tsv"
    published.parent.mkdir(parents=True)
    published.write_text("\n".join("\t".join(row) for row in rows) + "\n", encoding="utf-8")
    added, edited = touched_files(finished_project, "Add a data set")
    assert (added, edited) == (["pipeline/datasets/sources/market.py"], ["workflow/sources.csv"])
    trained_row(finished_project, "market", "market", "da")
    assert "example.org/market" in (finished_project.folder / "workflow/sources.lock").read_text()
    damaged = finished_project.folder / "damaged/example.org/market/captions.tsv"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("a\ttrain\ten\n")
    settings = shlex.quote('{"source": "market"}')
    split = f"python -m pipeline split --settings {settings} --sources damaged --output split.csv"
    assert "market/captions.tsv: not a table of captions" in run(
        finished_project, ["bash", "-euc", f"{split} || true"]
    )


def test_short_jobs_are_submitted_in_groups(finished_project: Project) -> None:
    ((_, groups),) = SECTIONS["Short jobs in groups"]
    shipped = (ROOT / "profiles/slurm/profile.yaml").read_text(encoding="utf-8")
    path = finished_project.folder / "profiles" / "grouped" / "profile.yaml"
    path.parent.mkdir()
    path.write_text(f"{shipped}\n{groups}", encoding="utf-8")
    grouped = ["snakemake", "-n", "results/table4.csv", "--workflow-profile", "profiles/grouped"]
    assert jobs(run(finished_project, grouped))["train"] > 1


def test_two_seeds_request_two_gpus(finished_project: Project) -> None:
    output = follow(finished_project, "Two seeds on two GPUs")
    assert {"seed=0", "seed=1"} <= set(re.findall(r"seed=\d", output))
    one = jobs(run(finished_project, ["snakemake", "-n", "results/table2.csv"]))
    assert jobs(output)["train"] == one["train"] + 14  # the second seed has no results yet


def test_the_controller_runs_as_a_job(finished_project: Project) -> None:
    output = follow(finished_project, "The controller in sbatch or tmux")
    assert jobs(output)["tabulate"] == 1
    (script,) = [text for kind, text in SECTIONS["The controller in sbatch or tmux"] if kind == "sbatch"]
    run(finished_project, ["bash", "-n"], script)
    unset = [line for line in script.split("\n") if line.startswith("unset")]
    left = run(finished_project, ["bash", "-euc", f"export SLURM_JOB_ID=1; {unset[0]}; env"])
    assert "SLURM_JOB_ID" not in left


def test_each_rule_that_may_request_a_gpu_has_the_gpu_partition(finished_project: Project) -> None:
    output = follow(finished_project, "CPU and GPU partitions")
    assert "profiles/mine" in output
    assert jobs(output)["train"] > 1
    profile = yaml.safe_load((finished_project.folder / "profiles/mine/profile.yaml").read_text())
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    asking = {
        text.split(":")[0]
        for text in re.split(r"^rule ", rules, flags=re.M)[1:]
        if re.search(r"\bgpu=|translating\(", text)
    }
    assert set(profile["set-resources"]) == asking
    shipped = yaml.safe_load((ROOT / "profiles/slurm/profile.yaml").read_text())["default-resources"]
    assert profile["default-resources"] == {**shipped, "slurm_partition": "cpu"}
