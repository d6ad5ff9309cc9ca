"""Digest of the code that a stage runs, so that an edit reruns the stages that import it and no others.

Comments, docstrings, layout and the wording of errors and log lines do not count.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("pipeline", "search")

# What says, saves or checks a result, but never makes it another.
WITHOUT_EFFECT = {
    "pipeline.common.errors",
    "pipeline.common.files",
    "pipeline.common.signals",
    "pipeline.common.progress",
    "pipeline.training.watching",
    "pipeline.digest",
    "pipeline.datasets.sources",  # names modules, as the next
    "pipeline.registry",  # names modules, which count where they are used: `digest(uses=...)`
}

# The modules that a stage begins from; all that they import counts too.
STAGES = {
    "demo": ["pipeline.demo.pictures"],
    "demo-captions": ["pipeline.demo.sentences"],
    "demo-dictionary": ["pipeline.demo.dictionaries"],
    "split": ["pipeline.datasets.split"],  # and the source, by name
    "captions": ["pipeline.datasets.split", "pipeline.datasets.table"],  # and the source, by name
    "tokenize": ["pipeline.datasets.tokenize"],
    "augment": ["pipeline.datasets.augment"],
    "text": ["pipeline.datasets.text"],
    "caption-part": [
        "pipeline.datasets.lessons_parts",
        "pipeline.datasets.split",
        "pipeline.datasets.tokenize",
    ],
    "draw": ["pipeline.datasets.draws", "pipeline.datasets.split"],
    "select": ["pipeline.words.selection"],
    "find-images": ["pipeline.images.find", "pipeline.datasets.split"],
    "features": ["pipeline.images.extract"],
    "merge-features": ["pipeline.images.merge"],
    "import-features": ["pipeline.images.imported", "pipeline.datasets.split"],
    "translate": ["pipeline.translation.translate", "pipeline.translation.dictionary"],
    "translate-borrowed": ["pipeline.translation.translate", "pipeline.translation.borrowed"],
    "translate-marian": ["pipeline.translation.translate", "pipeline.translation.marian"],
    "translate-web": ["pipeline.translation.translate", "pipeline.translation.web"],
    "translation-quality": ["pipeline.translation.quality", "pipeline.translation.parallel"],
    "word-vectors": ["pipeline.words.vectors", "pipeline.words.settings"],
    "own-word-vectors": ["pipeline.words.make"],
    "words": ["pipeline.words.make"],
    "reduce-words": ["pipeline.words.reduce", "pipeline.words.make"],
    "spell": ["pipeline.words.spelled"],
    "align": ["pipeline.words.align"],
    "pretrain-bert": ["pipeline.words.bert"],
    "sentence-vectors": ["pipeline.words.sentence_vectors"],
    "train": ["pipeline.training.train"],
    "assign": ["pipeline.training.assign"],
    "train-multitask": ["pipeline.training.multitask"],
    "evaluate": ["pipeline.evaluation.evaluate"],
    "evaluate-consistency": ["pipeline.evaluation.consistency"],
    "tabulate": ["pipeline.tables.tabulate"],
    "smalr-parameters": ["pipeline.tables.smalr_parameters"],
    "scaling": ["pipeline.tables.scaling"],
    "scatter": ["pipeline.report.scatter"],
    "parameters": ["pipeline.tables.parameters"],
    "compare": ["pipeline.tables.compare"],
    "judge-claims": ["pipeline.tables.claims"],
    "figure": ["pipeline.report.figures"],
    "languages-figure": ["pipeline.report.languages_figure"],
    "report": ["pipeline.report.report"],
    "bundle": ["search.bundle"],
    "index": ["search.index"],
    "context": ["pipeline.evaluation.clip"],
    "tabulate-context": ["pipeline.tables.context"],
    "count-captions": ["pipeline.tables.data"],
    "vocabulary-overlap": ["pipeline.tables.overlap"],
}

# Training asks the recall code only which epoch to keep. Evaluation asks again and refuses a model whose
# choice was made by other recall code, so an edit there reruns evaluation alone.
CHOICE_OF_EPOCH = {"pipeline.evaluation.ranks", "pipeline.evaluation.recall", "pipeline.evaluation.evaluate"}
WITHOUT = {"train": CHOICE_OF_EPOCH, "assign": CHOICE_OF_EPOCH, "train-multitask": CHOICE_OF_EPOCH}


@cache
def digest(stage: str, uses: tuple[str, ...] = ()) -> str:
    """Digest of all modules of this package that a stage imports, directly or not.

    Args:
        uses: modules that it imports by name for some experiments alone (`pipeline.registry`).
    """
    seen: dict[str, str] = {}
    left = [*STAGES[stage], *uses]
    skipped = WITHOUT_EFFECT | WITHOUT.get(stage, set())
    while left:
        module = left.pop()
        path = _path(module)
        if module in seen or module in skipped or path is None:
            continue
        seen[module], imported = _parsed(path.read_text(encoding="utf-8"))
        left.extend(imported)
    text = "\n".join(f"{module} {code}" for module, code in sorted(seen.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None)


@cache
def _parsed(text: str) -> tuple[str, list[str]]:
    """A module's code without docstrings and messages, and the modules of this package that it imports."""
    tree = ast.parse(text)
    imported: list[str] = []
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            del body[0]
        if _is_message(node):
            _without_words(node)
        imported += _imported(node)
    return ast.dump(tree), [module for module in imported if module.split(".")[0] in PACKAGES]


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_message(node: ast.AST) -> bool:
    """Whether a statement raises an error or writes to the log."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = ast.unparse(node.value.func)
        return called == "raise_together" or called.startswith("log.")
    return isinstance(node, ast.Raise)


def _without_words(node: ast.AST) -> None:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            part.value = ""


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return []
