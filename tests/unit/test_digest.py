"""A job's digest changes with code that it runs, and with nothing else."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plans import plan_of

from pipeline import digest as code
from pipeline.plan.code import code_of
from pipeline.stages import STAGES

Edit = Callable[[str, str, str], None]

# An experiment for each of the parts that only some models use.
TRAINED = {
    "mule": "mule-full",
    "vse": "vse-en",
    "hem": "smalr-hem",
    "smalr": "smalr",
    "liwe": "liwe-s-ten",
    "dictionary": "mule-ten-dictionary-5",
}
PLAN = plan_of()
ALL_TRAINED = {"train-lessons", *(f"train {name}" for name in TRAINED)}
ALL_EVALUATED = {*(f"evaluate {name}" for name in TRAINED), "evaluate-consistency"}
# Stages that count the parameters of all models and losses, and stages that read any model.
COUNTING = {"count-parameters", "count-smalr-parameters"}
READING = {"build-index", "draw-retrieved"}
# The stages of an experiment, and those whose jobs are not planned with a digest.
OF_EXPERIMENT = {"train", "evaluate"}
UNPLANNED = {"prefetch-models", "show-table", "search", "serve"}


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Replace text in a copy of the package, of which digests are then computed."""
    for package in code.PACKAGES:
        shutil.copytree(code.ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "ROOT", tmp_path)
    code.digest.cache_clear()

    def replace(file: str, old: str, new: str) -> None:
        path = tmp_path / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        code.digest.cache_clear()

    yield replace
    code.digest.cache_clear()


def digests() -> dict[str, str]:
    """By stage, for the experiment mule-full; training and evaluation by experiment."""
    planned = [stage for name, stage in STAGES.items() if name not in UNPLANNED | OF_EXPERIMENT]
    return {stage.name: code_of(PLAN, stage, "multi30k", "mule-full") for stage in planned} | {
        f"{stage} {name}": code_of(PLAN, STAGES[stage], "multi30k", experiment)
        for name, experiment in TRAINED.items()
        for stage in OF_EXPERIMENT
    }


def changed_stages(before: dict[str, str]) -> set[str]:
    return {stage for stage, value in digests().items() if value != before[stage]}


LOSSES, MODELS, EVALUATION = "pipeline/models/losses", "pipeline/models", "pipeline/evaluation"


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        (f"{LOSSES}/triplets.py", ".relu().sum(1)", ".sum(1)",
         {"pretrain", "assign", *ALL_TRAINED, *COUNTING}),
        (f"{EVALUATION}/ranks.py", "scores > best", "scores >= best",
         {*ALL_TRAINED, *ALL_EVALUATED, "draw-retrieved"}),
        (f"{EVALUATION}/recall.py", "ranks <= k", "ranks < k",
         {*ALL_TRAINED, *ALL_EVALUATED, "draw-retrieved"}),
        (f"{MODELS}/branches.py", "nn.ReLU()", "nn.GELU()",
         {*ALL_TRAINED, *ALL_EVALUATED, *COUNTING, *READING}),
        (f"{LOSSES}/ranking.py", ".relu()", ".square()",
         {"train vse", "train liwe", "train-lessons", *COUNTING}),
        (f"{MODELS}/liwe.py", "nn.LeakyReLU(0.1)", "nn.LeakyReLU(0.2)",
         {"train liwe", "evaluate liwe", *COUNTING, "draw-retrieved"}),
        (f"{LOSSES}/liwe.py", "share = 1 - base**step", "share = base**step", {"train liwe", *COUNTING}),
        (f"{MODELS}/dictionary_embedding.py", "word_ids >= rows", "word_ids > rows",
         {"train dictionary", "evaluate dictionary", *COUNTING, "draw-retrieved"}),
        (f"{MODELS}/hybrid.py", "clamp(min=0)", 'mode="mean"',
         {*(f"{stage} {name}" for stage in OF_EXPERIMENT for name in ("hem", "smalr")), "assign", *COUNTING,
          "draw-retrieved"}),
        (f"{LOSSES}/masking.py", "min=1e-6", "min=1e-5", {"train smalr", *COUNTING}),
        (f"{MODELS}/assignment.py", ".argmax(1)", ".argmin(1)", {"assign"}),
        (f"{MODELS}/consistency.py", "bias=False", "bias=True",
         {"evaluate-consistency", "count-smalr-parameters"}),
        ("pipeline/registry.py", "EMBEDDINGS = {", 'EMBEDDINGS = {"other": "pipeline.models:Other",', set()),
        ("pipeline/training/batches.py", "(captions.count > 0).sum() < 2", "(captions.count > 0).sum() < 3",
         {"pretrain", "assign", *ALL_TRAINED}),
    ],
    ids=lambda value: Path(value).stem if isinstance(value, str) and value.endswith(".py") else "",
)  # fmt: skip
def test_an_edit_concerns_the_stages_and_models_that_use_it(
    edit: Edit, file: str, old: str, new: str, changed: set[str]
) -> None:
    before = digests()
    edit(file, old, new)
    assert changed_stages(before) == changed


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (f"{LOSSES}/triplets.py", "\nclass Comparison", "\n\n\n# A comment.\nclass Comparison"),
        (f"{EVALUATION}/recall.py", '"""Recall at K', '"""The recall at K'),
        (
            "pipeline/training/batches.py",
            "which a triplet needs; take more",
            "which a triplet has to have; take more",
        ),
    ],
)
def test_comments_docstrings_layout_and_messages_concern_nothing(
    edit: Edit, file: str, old: str, new: str
) -> None:
    before = digests()
    edit(file, old, new)
    assert changed_stages(before) == set()


def test_a_file_that_moves_concerns_nothing(edit: Edit) -> None:
    before = digests()
    losses = code.ROOT / LOSSES
    (losses / "triplets.py").rename(losses / "hinges.py")
    for path in [path for package in code.PACKAGES for path in (code.ROOT / package).rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("losses.triplets import", "losses.hinges import"), encoding="utf-8")
    code.digest.cache_clear()
    assert {stage for stage in changed_stages(before) if not stage.startswith("count-")} == set()


def test_the_module_of_every_stage_exists() -> None:
    for stage in STAGES.values():
        assert code.path_of(stage.module), stage.name
