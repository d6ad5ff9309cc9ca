"""Every rule gives its stage all that the stage needs, and the digest of the code that it runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Command, announced_commands
from project import copy_of_project

from pipeline import cli
from pipeline.digest import digest
from pipeline.stages import STAGES

pytestmark = pytest.mark.integration

# No key has its default, so that an option that is not passed on is noticed.
LIMITS = {"requests_per_day": 9, "max_wait": 8.0}
DEMO: dict[str, Any] = {
    "scale": "demo",
    "seeds": [3],
    "gpu": 1,
    "sources": {"scenes": 61, "seed": 8},
    "images": {"workers": 3, "batch_size": 7, "shards": 2, "compile": True, "max_failed_fraction": 0.25},
    "translation": {
        "cache": "mine/cache.sqlite",
        "limits": LIMITS,
        "pairs": {"en-de": {"provider": "google"}, "de-en": {"provider": "libre", "url": "http://here:5000"}},
    },
    "liwe": {"max_word_length": 19},
    "lessons": {"min_count": 6, "sampling_seed": 5},
    "tensorboard": True,
    "tables": {
        "mine": {
            "paper": "mule",
            "columns": {"multi30k": ["en", "de"], "mscoco": ["ja"]},
            "rows": [
                {"row": 1, "method": "a", "experiment": "mule-full-human+mt"},
                {"row": 2, "method": "b", "experiment": "embn-en", "queries": "translated"},
                {"row": 3, "method": "c", "experiment": "smalr", "consistency": "learned"},
                {"row": 4, "method": "d", "experiment": "liwe-s-ten"},
                {"row": 5, "method": "e", "experiment": "muse-full"},
                {"row": 6, "method": "f", "experiment": "bert-parallel-embn"},
                {"row": 7, "method": "g", "experiment": "bi-overlap-c2c-as-code"},
                {"row": 8, "method": "h", "experiment": "bi-comparable-c2c"},
                {"row": 9, "method": "i", "experiment": "embn-equal-steps"},
            ],
        }
    },
    "report": ["mine", "table1", "lessons/table1", "lessons/figure3"],
}

PAPER: dict[str, Any] = {
    "scale": "paper",
    "seeds": [3],
    "sources": {"mirror": "./mirror"},
    "images": {"features": "mine/features.h5", "backbone": "ours", "dimension": 8, "list": "mine/list.csv"},
    "datasets": {"mscoco": {"sample_size": 12, "split_seed": 7}},
    "translation": {"default": {"provider": "dictionary"}},
}
FLICKR8K: dict[str, Any] = {"scale": "flickr8k", "seeds": [3]}
# Dry runs that together have jobs of every rule.
DRY_RUNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "demo": (
        DEMO,
        [
            "results/report.html",
            "results/compare/multi30k/embn-vs-mule-full.csv",
            "results/smalr/parameters.csv",
            "results/smalr/figure1b.svg",
            "results/parameters.csv",
            "results/translation-quality.csv",
            "results/figure4.html",
            "work/demo/multi30k/experiments/mule-full/seed3/index",
        ],
    ),
    "paper": (
        PAPER,
        [
            "work/paper/mscoco/experiments/mule-ten-dictionary-5/seed3/test-original.json",
            "work/paper/multi30k/experiments/vse-en/seed3/test-original.json",
            "prefetch",
        ],
    ),
    "flickr8k": (
        FLICKR8K,
        [
            "work/flickr8k/text/en.bin",
            "work/flickr8k/flickr8kcn/images.csv",
            "work/flickr8k/multi30k/translations/queries/de-ja.csv",
            "work/flickr8k/multi30k/translations/en-zh.csv",
            "work/flickr8k/multi30k/translation-quality/en-fr.csv",
            "work/flickr8k/multi30k/parts/comparable/de.csv",
        ],
    ),
}

# Commands that people run by hand, or whose digest is not compared.
WITHOUT_RULE = {"show-table", *(name for name in STAGES if name.startswith("manage-"))}
WITHOUT_DIGEST = {"download", "unpack", "publish", "prefetch-models"}
UNLISTED = {"code", "settings"}  # a digest, and blocks that the plan's tests check
# By stage, options of some jobs, checked by hand against the stage's help and the configurations above.
EXPECTED: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> list[Command]:
    """The jobs of all dry runs, each parsed as its stage does."""
    found = []
    for name, (settings, targets) in DRY_RUNS.items():
        folder = tmp_path_factory.mktemp(name)
        project = copy_of_project(folder)
        for path in ("mine/clip", "mirror", "on-request/flickr30k", "on-request/coco-cn"):
            (folder / path).mkdir(parents=True)
        for path in ("mine/features.h5", "on-request/coco-cn/imageid.human-written-caption.txt"):
            (folder / path).touch()
        (folder / "mine/list.csv").write_text("image\n1.png\n")
        (folder / "mine/clip/config.json").write_text("{}")
        project.configure(**settings)
        found += announced_commands(project, *targets)
    return found


def test_every_stage_has_a_rule(commands: list[Command]) -> None:
    run = {command.stage.name for command in commands}
    assert run == (STAGES.keys() - WITHOUT_RULE) | {"write-bundle", "build-index"}
    assert run == EXPECTED.keys()


def test_every_rule_has_a_line_in_the_list(tmp_path: Path) -> None:
    """`snakemake --list-rules`, and `--list-target-rules`, whose targets need no file's name."""
    project = copy_of_project(tmp_path)
    project.configure()
    listed = project.snakemake("--list-rules").stdout
    lines = dict(re.findall(r"^(\w+)(?: \((.*)\))?$", listed, re.M))
    assert lines["train"] == STAGES["train"].summary
    assert set(lines) > {"all", "downloads", "prefetch", "translate_queries"}
    assert [rule for rule, line in lines.items() if not line] == []


def test_a_job_is_planned_with_the_digest_of_the_code_that_it_runs(commands: list[Command]) -> None:
    """Otherwise an edit would rerun nothing, or the job would refuse to run."""
    wrong = {
        command.stage.name
        for command in commands
        if command.values["code"] != digest(command.stage, command.stage.parts(command.values))
    }
    assert wrong == WITHOUT_DIGEST
    assert {command.values["code"] for command in commands if command.stage.name in wrong} == {None}


def test_every_option_is_passed_on(commands: list[Command]) -> None:
    """Some jobs of each stage are listed in full, which together have every option that a rule gives."""
    shown = {f"{command.stage.name} {shown_options(command)}" for command in commands}
    lines = [f"{stage} {line}" for stage, of_stage in EXPECTED.items() for line in of_stage]
    assert [line for line in lines if line not in shown] == []
    listed = {
        stage: {option for line in of_stage for option in re.findall(r"(?:^| )--([a-z0-9-]+)", line)}
        for stage, of_stage in EXPECTED.items()
    }
    given: dict[str, set[str]] = {}
    for command in commands:
        given.setdefault(command.stage.name, set()).update(command.options.keys() - UNLISTED)
    assert given == listed


def test_no_rule_gives_these_options(commands: list[Command]) -> None:
    """Each has a default, since the commands were parsed without it."""
    left = {
        (command.stage.name, each.name.replace("_", "-"))
        for command in commands
        for each in cli.parameters(command.stage.function)
        if each.name not in cli.NOT_OPTIONS
    }
    left -= {(command.stage.name, option) for command in commands for option in command.options}
    assert left == {
        *(("build-index", option) for option in ("device", "photographs", "weights", "workers")),
        ("compare", "metric"),
        *((stage, "sources") for stage in ("split", "read-captions", "read-caption-part")),
    }


def shown_options(command: Command) -> str:
    """The options of a job except `UNLISTED`; of over four values the first, the last and their number."""
    shown = []
    for option, values in command.options.items():
        if option not in UNLISTED:
            short = values if len(values) <= 4 else [values[0], "...", values[-1], f"({len(values)})"]
            shown += [f"--{option}", *short]
    # An assignment's folder is named by the digest of its settings.
    return re.sub(r"(assignments?[/-])[0-9a-f]{10}", r"\1DIGEST", " ".join(shown))
