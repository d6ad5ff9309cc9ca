"""A stage's digest changes with code that it runs, and with nothing else."""

import ast
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline import digest as code
from pipeline import registry as parts
from pipeline.datasets import languages
from pipeline.models.settings import Liwe, Masking, Model, ModelSettings, Ranking
from pipeline.stages import STAGES, language_row
from search.stages import STAGES as SEARCH_STAGES

Edit = Callable[[str, str, str], None]


def forget() -> None:
    code.digest.cache_clear()
    code.code_of.cache_clear()


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Replace text in a copy of the package, of which digests are then computed."""
    for package in code.PACKAGES:
        shutil.copytree(code.ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "ROOT", tmp_path)
    forget()

    def replace(file: str, old: str, new: str) -> None:
        path = tmp_path / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        forget()

    yield replace
    forget()


def digests() -> dict[str, str]:
    planned = [stage for name, stage in STAGES.items() if name not in UNPLANNED | BY_ARGUMENTS]
    planned += [SEARCH_STAGES[name] for name in ("write-bundle", "build-index")]
    of_mule = {stage: code.digest(stage, parts.of_model(TRAINED["mule"])) for stage in OF_MULE}
    of_each = {
        f"{stage} {name}": code.digest(stage, uses)
        for name, of in TRAINED.items()
        for stage, uses in (("train", parts.of_training(of)), ("evaluate", parts.of_model(of)))
    }
    without = {name: code.digest(name, ()) for name in BY_ARGUMENTS - OF_MULE - {"train", "evaluate"}}
    return {stage.name: code.digest(stage) for stage in planned} | of_mule | of_each | without


# Stages whose parts depend on their arguments, with the arguments for MULE.
BY_ARGUMENTS = {
    "split", "read-captions", "tokenize", "collect-text", "read-caption-part", "translate",
    "measure-translation-quality", "pretrain", "train", "train-lessons", "evaluate", "evaluate-consistency",
}  # fmt: skip
OF_MULE = {"pretrain", "train-lessons", "evaluate-consistency"}
# Modules whose edits rerun nothing, because their outputs are checked in another way.
UNPLANNED = {
    "prefetch-models",
    *(f"manage-translations {action}" for action in ("find", "export", "import")),
}

# Settings of experiments, as far as they select parts.
PARTS: dict[str, dict[str, Any]] = {
    "mule": {},
    "vse": {"model": Model(encoder="vse"), "ranking": Ranking()},
    "hem": {"embedding": "hybrid"},
    "smalr": {"embedding": "hybrid", "masking": Masking()},
    "liwe": {"model": Model(encoder="liwe"), "liwe": Liwe()},
    "dictionary": {"reduction": "dictionary-5"},
}
TRAINED = {
    name: ModelSettings(**{"languages": ["en"], "model": Model(), **used}) for name, used in PARTS.items()
}
ALL_TRAINED = {"train-lessons", *(f"train {name}" for name in TRAINED)}
# Stages that count the parameters of all models and losses, and stages that read any model.
COUNTING = {"count-parameters", "count-smalr-parameters", "measure-scaling"}
READING = {"build-index", "draw-retrieved", "write-bundle"}
ALL_EVALUATED = {*(f"evaluate {name}" for name in TRAINED), "evaluate-consistency"}


def changed_stages(before: dict[str, str]) -> set[str]:
    return {stage for stage, value in digests().items() if value != before[stage]}


def test_an_edit_of_the_loss_concerns_training_and_nothing_before(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/losses/triplets.py", ".relu().sum(1)", ".relu().square().sum(1)")
    assert changed_stages(before) == {"pretrain", "assign", *ALL_TRAINED, *COUNTING}


def test_the_recall_code_concerns_evaluation_and_search(edit: Edit) -> None:
    before = digests()
    edit("pipeline/evaluation/ranks.py", "similarity > correct", "similarity >= correct")
    edit("pipeline/evaluation/recall.py", "ranks <= k", "ranks < k")
    assert changed_stages(before) == {*ALL_EVALUATED, "write-bundle"}


def test_the_gallery_concerns_evaluation_figures_and_search_and_no_training(edit: Edit) -> None:
    before = digests()
    edit(
        "pipeline/evaluation/gallery.py",
        "return Gallery(rows, image_of)",
        "return Gallery(rows[::1], image_of)",
    )
    assert changed_stages(before) == {*ALL_EVALUATED, "draw-retrieved", "write-bundle"}


def test_the_model_concerns_training_evaluation_figures_and_search(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/branches.py", "nn.ReLU()", "nn.GELU()")
    assert changed_stages(before) == {*ALL_TRAINED, *ALL_EVALUATED, *COUNTING, *READING}


def test_the_ranking_loss_concerns_only_models_that_use_it(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/losses/ranking.py", ".relu()", ".relu().square()")
    assert changed_stages(before) == {"train vse", "train liwe", "train-lessons", *COUNTING}  # LIWE too


def test_liwe_concerns_only_itself(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/liwe.py", "nn.LeakyReLU(0.1)", "nn.LeakyReLU(0.2)")
    edit("pipeline/models/losses/liwe.py", "share = 1 - base**step", "share = base**step")
    assert changed_stages(before) == {"train liwe", "evaluate liwe", *COUNTING, *READING}


def test_words_read_as_english_concern_only_models_that_have_them(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/dictionary_embedding.py", "word_ids >= rows_of", "word_ids > rows_of")
    assert changed_stages(before) == {"train dictionary", "evaluate dictionary", *COUNTING, *READING}


def test_the_hybrid_embedding_concerns_only_models_that_have_it(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/hybrid.py", "clamp(min=0)", 'mode="mean"')
    found = {"train hem", "train smalr", "evaluate hem", "evaluate smalr"}
    assert changed_stages(before) == {*found, "assign", *COUNTING, *READING}


def test_masking_concerns_only_smalr(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/losses/masking.py", "min=1e-6", "min=1e-5")
    assert changed_stages(before) == {"train smalr", *COUNTING}


def test_the_assignment_of_words_concerns_no_training_itself(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/assignment.py", ".argmax(1)", ".argmin(1)")
    assert changed_stages(before) == {"assign"}


def test_the_network_of_consistency_concerns_only_its_evaluation(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/consistency.py", "nn.ReLU()", "nn.Tanh()")
    assert changed_stages(before) == {"evaluate-consistency", *COUNTING}


def test_a_further_part_concerns_no_stage(edit: Edit) -> None:
    before = digests()
    edit(
        "pipeline/registry.py",
        "EMBEDDINGS = {",
        'EMBEDDINGS = {"other": "pipeline.models.losses.triplets:Triplets",',
    )
    assert changed_stages(before) == set()


def test_comments_docstrings_and_layout_concern_nothing(edit: Edit) -> None:
    before = digests()
    edit(
        "pipeline/models/losses/triplets.py",
        "mean over positives of the mean",
        "The mean over all anchors of the mean",
    )
    edit("pipeline/models/losses/triplets.py", "\nclass Comparison", "\n\n\n# A comment.\nclass Comparison")
    edit("pipeline/evaluation/recall.py", '"""Recall at K', '"""The recall at K')
    assert changed_stages(before) == set()


def test_the_wording_of_errors_and_log_lines_concerns_nothing(edit: Edit) -> None:
    before = digests()
    edit("pipeline/training/batches.py", "but a triplet needs two; ", "a triplet needs two of them; ")
    edit("pipeline/training/driver.py", "trains on", "is trained on")
    edit(
        "pipeline/models/hybrid.py", "The hybrid embedding needs its assignment;", "It needs its assignment;"
    )
    assert changed_stages(before) == set()


def test_the_condition_of_an_error_concerns_its_stages(edit: Edit) -> None:
    before = digests()
    edit("pipeline/training/batches.py", "if self.batch < 2:", "if self.batch < 3:")
    assert changed_stages(before) == {"count-steps", "pretrain", "assign", *ALL_TRAINED}


def test_a_text_that_decides_something_counts(edit: Edit) -> None:
    before = digests()
    edit("pipeline/models/branches.py", 'if model.recurrent == "mean":', 'if model.recurrent == "mlp":')
    assert changed_stages(before) >= {*ALL_TRAINED, *ALL_EVALUATED}


def test_the_module_of_every_stage_exists() -> None:
    for stage in STAGES.values():
        assert code.path_of(stage.module), stage.name


def test_layers_of_losses_concern_the_count_of_parameters() -> None:
    """It imports them by name (`pipeline.models.sizes`)."""
    counting = STAGES["count-smalr-parameters"]
    assert counting.parts({}) == parts.of_any_training()
    assert code.digest(counting) != code.digest(counting, ())


def test_an_edit_of_a_languages_row_concerns_stages_that_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def tokenizer_digests() -> dict[str, str]:
        forget()
        languages.language.cache_clear()
        return {each: code.digest("tokenize", (language_row(each),)) for each in ("de", "sw", "th")}

    before, every = tokenizer_digests(), digests()
    monkeypatch.setitem(languages.LANGUAGES, "sw", languages.Language("sw", "Swahili"))
    after = tokenizer_digests()
    assert {each for each in before if before[each] != after[each]} == {"sw"}
    assert changed_stages(every) == {"write-report", "draw-retrieved"}  # pages name all languages
    monkeypatch.undo()
    assert tokenizer_digests() == before


def test_a_later_python_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12 gave functions and classes a list of type parameters, which is usually empty."""
    text = "class A:\n    def size(self) -> int:\n        return 1\n"
    earlier = code.code_of_text.__wrapped__(text)
    for node in (ast.FunctionDef, ast.ClassDef):
        if "type_params" not in node._fields:
            monkeypatch.setattr(node, "_fields", (*node._fields, "type_params"))
            monkeypatch.setattr(node, "type_params", [], raising=False)
    assert code.code_of_text.__wrapped__(text) == earlier
