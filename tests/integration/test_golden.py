"""The commands of all jobs, as dry runs at three scales announce them, equal the listings in tests/golden.

A listing has one command for each set of options and settings of a stage, with one option or setting a line:
the effect of a change on the plan is a diff that a reviewer reads.
"""

import inspect
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from project import Project, copy_of_project

from pipeline import registry
from pipeline.stages import STAGES

pytestmark = pytest.mark.integration

GOLDEN = Path(__file__).parents[1] / "golden"
# Commands that people run by hand.
WITHOUT_RULE = {"show-table", "serve", "search"}
LONGEST = 300  # characters of a setting that a listing shows
# Options that only people give, or only a data set with captioned_images.
BY_HAND = {
    *(("build-index", option) for option in ("device", "photographs", "workers")),
    ("compare", "metric"),
    ("draw-retrieved", "seed"),
    *(("read-captions", option) for option in ("captioned-images", "origin")),
    *((stage, "sources") for stage in ("split", "read-captions", "read-caption-part")),
}

# No key of the demo has its default, so that an option that is not passed on is noticed.
DEMO: dict[str, Any] = {
    "scale": "demo",
    "seeds": [3],
    "gpu": 1,
    "sources": {"scenes": 61, "seed": 8},
    "images": {"workers": 3, "batch_size": 7, "shards": 2, "max_failed_fraction": 0.25},
    "translation": {
        "cache": "mine/cache.sqlite",
        "requests_per_second": 9,
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
    "seeds": [3, 4],
    "report": ["table4"],
    "sources": {"mirror": "./mirror"},
    "images": {"features": "mine/features.h5", "backbone": "ours", "dimension": 8, "list": "mine/list.csv"},
    "datasets": {"mscoco": {"sample_size": 12, "split_seed": 7}},
    "translation": {"default": {"provider": "dictionary"}},
}
FLICKR8K: dict[str, Any] = {
    "scale": "flickr8k",
    "seeds": [3],
    "translation": {"pairs": {"de-en": {"provider": "google"}, "en-fr": {"provider": "trained"}}},
}

# Dry runs that together have jobs of every rule.
DRY_RUNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "demo": (
        DEMO,
        [
            *("results/report.html", "results/parameters.csv", "results/figure4.html"),
            *(
                "results/smalr/parameters.csv",
                "results/smalr/figure1b.svg",
                "results/translation-quality.csv",
            ),
            "results/compare/multi30k/embn-vs-mule-full.csv",
            "work/demo/multi30k/experiments/mule-full/seed3/index.h5",
        ],
    ),
    "paper": (
        PAPER,
        [
            *("prefetch", "results/report.html", "results/table1.csv", "results/lessons/table1.csv"),
            "work/paper/mscoco/experiments/mule-ten-dictionary-5/seed3/test-original.json",
            *(
                f"work/paper/multi30k/experiments/{model}"
                for model in (
                    *("smalr/seed4/test-average.json", "vse-en/seed3/test-original.json"),
                    *("muse-full/seed4/model.pt", "embn-equal-steps-fr/seed4/model.pt"),
                    *("bert-parallel-embn/seed4/model.pt", "bi-comparable-c2c-as-code/seed4/model.pt"),
                    *("bi-overlap-c2c-as-code/seed4/test-original.json", "mule-full/seed4/index.h5"),
                )
            ),
        ],
    ),
    "flickr8k": (
        FLICKR8K,
        [
            *("cluster_check", "work/flickr8k/text/en.bin", "work/flickr8k/flickr8kcn/images.csv"),
            "work/flickr8k/flickr8kcn/experiments/muse-embn/seed3/model.pt",
            *(
                f"work/flickr8k/multi30k/{file}"
                for file in (
                    *("translations/queries/de-ja.csv", "translations/en-zh.csv"),
                    *("translation-quality/en-fr.csv", "parts/comparable/de.csv"),
                    *("words/augmented/zh.h5", "words/human/de.h5"),
                )
            ),
        ],
    ),
}


class Command(NamedTuple):
    """A job of a dry run: its program, its stage, and the values of each option."""

    program: str
    stage: str
    options: dict[str, list[str]]

    @property
    def settings(self) -> dict[str, Any]:
        return dict(json.loads(self.options["settings"][0])) if self.options.get("settings") else {}

    @property
    def shape(self) -> tuple[str, ...]:
        """What distinguishes commands of a stage: which options have values, and which blocks of settings."""
        given = (option for option, values in self.options.items() if values)
        blocks = (key for key, value in self.settings.items() if isinstance(value, dict))
        return (self.stage, *sorted(given), *sorted(blocks))

    @property
    def lines(self) -> list[str]:
        """Its listing: the stage, then one option or setting a line."""
        return [f"{self.program} {self.stage}", *(f"  {line}" for line in self._option_lines())]

    def _option_lines(self) -> Iterator[str]:
        for option, values in sorted(self.options.items()):
            if option == "settings" and values:
                for key, value in self.settings.items():
                    text = json.dumps(value, ensure_ascii=False)
                    yield f"settings {key}: {text if len(text) <= LONGEST else f'{text[:LONGEST]}...'}"
            elif len(values) < 2:
                yield " ".join([option, *values])
            else:
                shown = values if len(values) <= 4 else [values[0], f"... ({len(values)})", values[-1]]
                yield from (f"{option} {value}" for value in shown)


def announced_commands(project: Project, targets: list[str]) -> list[Command]:
    """The jobs that run a stage, in the order of their text."""
    done = project.snakemake("-n", "-p", *targets)
    assert done.returncode == 0, done.stdout[-3000:]
    # Digests of code, and of the settings of an assignment, by which its folder is named.
    output = re.sub(r"(--code |assignments?[/-])[0-9a-f]{10,16}", r"\1DIGEST", done.stdout)
    jobs = r"^Shell command: (?:exec )?python -m (pipeline) (\S+) (.*?) > \S+ 2>&1"
    return [
        Command(program, stage, option_values(shlex.split(options)))
        for program, stage, options in sorted(re.findall(jobs, output, re.M))
    ]


def option_values(words: list[str]) -> dict[str, list[str]]:
    """The values of each option of a command."""
    options: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            option, equals, value = word.removeprefix("--").partition("=")
            options.setdefault(option, []).extend([value] if equals else [])
        else:
            options[list(options)[-1]].append(word)
    return options


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Command]]:
    """The jobs of each scale, for a user who has the data on request."""
    found = {}
    for scale, (settings, targets) in DRY_RUNS.items():
        folder = tmp_path_factory.mktemp(scale)
        project = copy_of_project(folder)
        for path in ("mine", "mirror", "on-request/flickr30k", "on-request/coco-cn"):
            (folder / path).mkdir(parents=True)
        for path in ("mine/features.h5", "on-request/coco-cn/imageid.human-written-caption.txt"):
            (folder / path).touch()
        (folder / "mine/list.csv").write_text("image\n1.png\n")
        project.configure(**settings)
        found[scale] = announced_commands(project, targets)
    return found


@pytest.mark.parametrize("scale", DRY_RUNS)
def test_the_commands_of_all_jobs_are_those_of_the_listing(
    commands: dict[str, list[Command]], scale: str
) -> None:
    """A listing that differs is written again: the test fails once, and `git diff` shows the change."""
    of_each_shape = {command.shape: command for command in reversed(commands[scale])}
    found = "\n\n".join(sorted("\n".join(command.lines) for command in of_each_shape.values())) + "\n"
    file = GOLDEN / f"{scale}.txt"
    expected = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(found, encoding="utf-8")
    assert found == expected, f"{file} is written again: read `git diff tests/golden`, and commit it"


def test_every_stage_has_a_rule(commands: dict[str, list[Command]]) -> None:
    run = {command.stage for of_scale in commands.values() for command in of_scale}
    assert run == STAGES.keys() - WITHOUT_RULE


def test_every_option_of_a_stage_is_given_by_some_rule(commands: dict[str, list[Command]]) -> None:
    given = {
        (command.stage, option)
        for of_scale in commands.values()
        for command in of_scale
        for option in command.options
    }
    taken = {
        (stage, name.replace("_", "-"))
        for stage in {stage for stage, _ in given}
        for name in inspect.signature(registry.load(STAGES[stage].function)).parameters
    }
    assert taken - given == BY_HAND
    assert {option for _, option in given - taken} == {"gpus"}  # of the command line itself


def test_every_rule_has_a_line_in_the_list(tmp_path: Path) -> None:
    """`snakemake --list-rules`, and `--list-target-rules`, whose targets need no file's name."""
    project = copy_of_project(tmp_path)
    project.configure()
    lines = dict(re.findall(r"^(\w+)(?: \((.*)\))?$", project.snakemake("--list-rules").stdout, re.M))
    assert lines["train"] == STAGES["train"].summary
    assert lines["downloads"] and [rule for rule, line in lines.items() if not line] == []
