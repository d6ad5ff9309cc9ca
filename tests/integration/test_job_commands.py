"""The commands of jobs: each rule passes on what the plan says, as options of its stage.

What the plan says is tested in tests/unit/test_plan_*.py.
"""

import json
import re
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import announced_commands
from project import Project, copy_of_project

pytestmark = pytest.mark.integration

Options = dict[str, list[str]]

COMMANDS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("job_commands.yaml").read_text(encoding="utf-8")
)
PAPER: dict[str, Any] = {
    "scale": "paper",
    "seeds": [3, 4],
    "report": ["table4"],
    "translation": {"default": {"provider": "dictionary"}},
}
FLICKR8K: dict[str, Any] = {
    "scale": "flickr8k",
    "seeds": [3],
    "translation": {"pairs": {"de-en": {"provider": "google"}}},
}
OF_PAPER = "work/paper/multi30k/experiments"
OF_CHINESE = "work/flickr8k/flickr8kcn/experiments"
TARGETS = {
    "paper": [
        *("results/report.html", "results/table1.csv", "results/parameters.csv"),
        *("results/smalr/figure1b.svg", "results/smalr/parameters.csv", "results/lessons/figure3.svg"),
        *("results/compare/multi30k/embn-vs-mule-full.csv", "results/translation-quality.csv"),
        f"{OF_PAPER}/smalr/seed4/test-average.json",
        *(
            f"{OF_PAPER}/{name}/seed4/model.pt"
            for name in (
                *("mule-ten-dictionary-5", "muse-full", "embn-equal-steps-fr", "bert-parallel-embn"),
                "bi-comparable-c2c-as-code",
            )
        ),
        f"{OF_PAPER}/bi-overlap-c2c-as-code/seed4/test-original.json",
        f"{OF_PAPER}/mule-full/seed4/index",
    ],
    "flickr8k": [
        "work/flickr8k/multi30k/translations/queries/de-ja.csv",
        "work/flickr8k/multi30k/words/augmented/zh.h5",
        "work/flickr8k/multi30k/words/human/de.h5",
        f"{OF_CHINESE}/muse-embn/seed3/model.pt",
        f"{OF_CHINESE}/mule-full/seed3/index",
    ],
}


def commands_of(project: Project, *targets: str) -> list[tuple[str, Options]]:
    """Name and options of each command that a dry run announces."""
    return [(each.stage.name, each.options) for each in announced_commands(project, *targets)]


def expanded(patterns: str | list[str]) -> list[str]:
    """Every value that patterns such as tokens/{en,de}.csv stand for, in their order."""
    values = []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        parts = [part.split(",") for part in re.split(r"[{}]", str(pattern))]
        parts[::2] = [[",".join(part)] for part in parts[::2]]
        values += ["".join(chosen) for chosen in product(*parts)]
    return values


def agrees(options: Options, expected: dict[str, Any]) -> bool:
    """Whether a command has exactly the expected options with these values."""
    every = {"command", *options} - {"code", "limits", "cache"}
    if every != {*expected}:
        return False
    settings = json.loads(options["settings"][0]) if "settings" in options else {}
    chosen = {key: settings.get(key) for key in expected.get("settings", {})}
    return chosen == expected.get("settings", {}) and all(
        len(values) == len(options[name]) and all(map(fnmatchcase, options[name], values))
        for name, pattern in expected.items()
        if name not in ("command", "settings") and pattern != "any"
        for values in [expanded(pattern)]
    )


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, Options]]]:
    """Those of both scales, for a user who has the data on request."""
    found = {}
    for settings in (PAPER, FLICKR8K):
        project = copy_of_project(tmp_path_factory.mktemp(settings["scale"]))
        for name in ("flickr30k", "coco-cn"):
            (project.folder / "on-request" / name).mkdir(parents=True)
        (project.folder / "on-request/coco-cn/imageid.human-written-caption.txt").touch()
        project.configure(**settings)
        found[settings["scale"]] = commands_of(project, *TARGETS[settings["scale"]])
    return found


@pytest.mark.parametrize(
    ("scale", "expected"), [(scale, each) for scale, of_scale in COMMANDS.items() for each in of_scale]
)
def test_a_rule_passes_on_what_the_plan_says(
    commands: dict[str, list[tuple[str, Options]]], scale: str, expected: dict[str, Any]
) -> None:
    found = [options for name, options in commands[scale] if name == expected["command"]]
    assert sum(agrees(options, expected) for options in found) == 1, found


def test_the_command_of_every_announced_stage_is_compared(
    commands: dict[str, list[tuple[str, Options]]],
) -> None:
    announced = {name for of_scale in commands.values() for name, _ in of_scale}
    assert announced == {each["command"] for of_scale in COMMANDS.values() for each in of_scale}


def test_a_users_bert_is_read_again_if_one_of_its_files_is_overwritten(tmp_path: Path) -> None:
    """The folder's modification time does not show it."""
    project = copy_of_project(tmp_path)
    project.configure(scale="demo", bert={"model": "./mine/bert"})
    store, weights = "work/demo/multi30k/bert/de.h5", tmp_path / "mine/bert/model.safetensors"
    for file in (weights, tmp_path / "work/demo/multi30k/tokens/de.csv", tmp_path / store):
        file.parent.mkdir(parents=True)
        file.write_text(file.name)
    assert project.would_run(store) == {}
    weights.write_text("other weights")
    assert project.would_run(store) == {"embed_captions": 1}
    assert [options["model"] for _, options in commands_of(project, store)] == [["./mine/bert"]]


def test_captions_are_read_again_if_a_file_in_their_folder_is_overwritten(tmp_path: Path) -> None:
    """The folder's modification time does not show it."""
    project = copy_of_project(tmp_path)
    project.configure(**PAPER)
    split, captions = (
        "work/paper/mscoco/split.csv",
        tmp_path / "on-request/coco-cn/texts/imageid.human-written-caption.txt",
    )
    published = (
        "images.cocodataset.org/annotations/annotations_trainval2014.zip",
        "github.com/yahoojapan/YJCaptions/raw/master/yjcaptions26k.zip",
    )
    for file in (captions, *(tmp_path / "work/sources" / name for name in published), tmp_path / split):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.name)
    (captions.parent / "readme.txt").write_text("of no concern")
    assert project.would_run(split) == {}
    captions.write_text("other captions")
    assert project.would_run(split) == {"split": 1}
    assert [options["requested"] for _, options in commands_of(project, split)] == [["on-request/coco-cn"]]
