"""A stage's digest changes with code that it runs, and with nothing else."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline import code

Edit = Callable[[str, str, str], None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Replace text in a copy of the package, which the digests are then taken of."""
    shutil.copytree(code.ROOT, tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "ROOT", tmp_path / "pipeline")
    _forget()

    def replace(file: str, old: str, new: str) -> None:
        path = tmp_path / "pipeline" / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        _forget()

    yield replace
    _forget()


def _forget() -> None:
    code.digest.cache_clear()
    code._parsed.cache_clear()


def digests() -> dict[str, str]:
    return {stage: code.digest(stage) for stage in code.STAGES}


def changed(before: dict[str, str]) -> set[str]:
    return {stage for stage, value in digests().items() if value != before[stage]}


def test_the_loss_concerns_training_and_nothing_before(edit: Edit) -> None:
    before = digests()
    edit("models/losses.py", ".clamp(min=0)", ".clamp(min=1)")
    assert changed(before) == {"train"}


def test_the_recall_code_concerns_evaluation_and_search(edit: Edit) -> None:
    before = digests()
    edit("retrieval/ranks.py", "similarity > right", "similarity >= right")
    edit("retrieval/recall.py", "ranks <= k", "ranks < k")
    assert changed(before) == {"evaluate", "bundle", "index"}


def test_the_gallery_concerns_evaluation_figures_and_search_and_no_training(edit: Edit) -> None:
    before = digests()
    edit("retrieval/gallery.py", "return Gallery(rows, image_of)", "return Gallery(rows[::1], image_of)")
    assert changed(before) == {"evaluate", "figure", "bundle", "index"}


def test_the_model_concerns_training_evaluation_figures_and_search(edit: Edit) -> None:
    before = digests()
    edit("models/branches.py", "nn.ReLU()", "nn.GELU()")
    assert changed(before) == {"train", "evaluate", "figure", "parameters", "bundle", "index"}


def test_comments_docstrings_and_layout_concern_nothing(edit: Edit) -> None:
    before = digests()
    edit("models/losses.py", "Mean over anchors of the mean", "The mean over all anchors of the mean")
    edit("models/losses.py", "\nclass Triplets", "\n\n\n# A comment.\nclass Triplets")
    edit("retrieval/recall.py", '"""Recall at K', '"""The recall at K')
    assert changed(before) == set()


def test_every_stage_begins_from_a_module_that_is_there() -> None:
    for modules in code.STAGES.values():
        assert all(code._path(module) for module in modules), modules
