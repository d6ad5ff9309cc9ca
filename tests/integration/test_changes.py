"""The cost of a change: the stages that run again after an edit; docs/troubleshooting.md lists some.

Each edit is made in a copy of the finished project, and a dry run shows what would run.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image
from project import FINISHED, ROOT, TABLES, Project, copy_of, finished

from pipeline.settings.merge import merge

pytestmark = pytest.mark.integration

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
LISTED = PAGE.partition("<!-- rows of tests/integration/test_changes.py -->")[2].partition("<!-- end -->")[0]

TRAINED = {"train", "evaluate", "tabulate"}
ASSIGNED = {"assign", "evaluate_consistency", *TRAINED}
LESSONS = {"train_lessons", "evaluate"}
READ = {"tokenize", "train_caption_vectors", "build_vocabulary", *TRAINED}
ROWS = FINISHED["tables"]["small"]["rows"]


class Edit(NamedTuple):
    """An edit, how it is made, the rules that must run again, no more and no fewer, and a further target."""

    what: str
    make: Callable[[Project], None]
    reruns: set[str]
    also: tuple[str, ...] = ()


def configure(**settings: Any) -> Callable[[Project], None]:
    return lambda project: project.configure(**merge(FINISHED, settings))


def replace(file: str, old: str, new: str) -> Callable[[Project], None]:
    return lambda project: project.edit(file, old, new)


def touch(file: str) -> Callable[[Project], None]:
    return lambda project: (project.folder / file).touch()


def paint(file: str) -> Callable[[Project], None]:
    return lambda project: Image.new("RGB", (90, 80), "white").save(project.folder / "mine/images" / file)


EDITS = [
    Edit(
        "`training.learning_rate` of the experiment mule-full",
        configure(experiments={"mule-full": {"settings": {"training": {"learning_rate": 1e-3}}}}),
        TRAINED,
    ),
    Edit("`triplets.margin`", configure(triplets={"margin": 0.1}), {"pretrain", *ASSIGNED}),
    Edit(
        "`models/losses/triplets.py`: a comment",
        replace("pipeline/models/losses/triplets.py", "Zeros count.", "They count."),
        set(),
    ),
    Edit(
        "`models/losses/triplets.py`: code",
        replace("pipeline/models/losses/triplets.py", ".relu().sum(1)", ".relu().square().sum(1)"),
        {"pretrain", *ASSIGNED, *LESSONS},
    ),
    Edit(
        "`evaluation/recall.py`: code",
        replace("pipeline/evaluation/recall.py", "ranks <= k", "ranks < k"),
        {*TRAINED, *LESSONS, "evaluate_consistency"},
    ),
    Edit("one of the user's photographs, overwritten", paint("0.png"), {"extract_features", *TRAINED}),
    Edit(
        "a caption in the user's table",
        replace("mine/captions.csv", "a red square", "a crimson square"),
        {"split", "read_captions", "find_images", "extract_features", *READ},
    ),
    Edit("the same table, touched but unchanged", touch("mine/captions.csv"), set()),
    Edit(
        "a further language in the data set: French",
        configure(datasets={"multi30k": {"languages": ["en", "de", "fr"]}}),
        {"read_captions", "translate", "pretrain", *READ},
    ),
    Edit(
        "a further row in a table, with a new model",
        configure(tables={"small": {"rows": [*ROWS, {"row": 5, "method": "NC", "experiment": "mule-nc"}]}}),
        TRAINED,
    ),
    Edit(
        "a further table, of models that other tables have",
        configure(tables={"another": {"columns": {"multi30k": ["en"]}, "rows": ROWS[:1]}}),
        {"tabulate"},
        ("results/another.csv",),
    ),
]


@pytest.mark.parametrize("edit", EDITS, ids=[edit.what for edit in EDITS])
def test_an_edit_reruns_what_it_must_and_no_more(
    edit: Edit, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = copy_of(finished(tmp_path_factory), tmp_path / "project")
    edit.make(project)
    jobs = project.would_run(*TABLES, *edit.also)
    assert jobs.keys() == edit.reruns
    for row in re.findall(rf"^\| {re.escape(edit.what)} \| (.*) \|$", LISTED, re.M):
        assert {rule: int(count) for rule, count in re.findall(r"(\w+) (\d+)", row)} == jobs


def test_each_edit_of_the_documentation_is_tried() -> None:
    assert set(re.findall(r"^\| (.+?) \|", LISTED, re.M)) <= {"edit", *(edit.what for edit in EDITS)}
