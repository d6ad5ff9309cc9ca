"""Digest of the code that a stage runs, so that an edit reruns the stages that import it and no others.

Comments, docstrings, layout and the wording of errors and log lines do not count. Nor do names of modules: a
file that moves reruns nothing.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pipeline.stages import STAGES, Stage

ROOT = Path(__file__).parents[1]
PACKAGES = ("pipeline", "search")

# Modules that log, save or check a result, but never change it. Classes of settings do not count either: what
# they hold is in the job's parameters.
WITHOUT_EFFECT = {
    "pipeline.common.block",
    "pipeline.common.errors",
    "pipeline.common.files",
    "pipeline.common.signals",
    "pipeline.common.progress",
    "pipeline.digest",
    "pipeline.stages",
    # These name modules, which count where they are used.
    "pipeline.datasets.sources",
    "pipeline.registry",
}


@cache
def digest(stage: Stage | str, *parts: str) -> str:
    """Digest of all modules of this project that a stage imports, directly or not.

    Args:
        parts: modules that it imports by name (`pipeline.registry`).
    """
    stage = STAGES[stage] if isinstance(stage, str) else stage
    queue, codes = [stage.module, *parts], dict[str, Code]()
    while queue:
        module = queue.pop()
        path = path_of(module)
        passed_over = module in WITHOUT_EFFECT or module.endswith(".settings")
        if path and module not in codes and not passed_over:
            codes[module] = code_of_text(path.read_text(encoding="utf-8"))
            queue += codes[module].imports
    # An import counts by the imported module's content: the same name from another module is different code.
    lines = [
        " ".join([code.text, *(codes[module].text for module in code.imports if module in codes)])
        for code in codes.values()
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


def path_of(module: str) -> Path | None:
    """The file of a module; None if this project has no such module."""
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None)


class Code(NamedTuple):
    """A module's text without docstrings and messages, and this project's modules that it imports."""

    text: str
    imports: list[str]


@cache
def code_of_text(text: str) -> Code:
    """The code of a module's text."""
    reader = _Reader()
    return Code(ast.unparse(reader.visit(ast.parse(text))), reader.imports)


class _Reader(ast.NodeTransformer):
    """Removes docstrings, messages and names of this project's modules, which it collects."""

    def __init__(self) -> None:
        self.imports: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant):
            return None  # a docstring
        called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        return _without_text(node) if called == "raise_together" or called.startswith("log.") else node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return _without_text(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return None  # imported only for annotations
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        self.imports += [name.name for name in node.names if name.name.split(".")[0] in PACKAGES]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        module = node.module or ""
        if module.split(".")[0] not in PACKAGES:
            return node
        self.imports += [module, *(f"{module}.{name.name}" for name in node.names)]  # names may be modules
        return ast.ImportFrom("", node.names, 0)


def _without_text(statement: ast.AST) -> ast.AST:
    """A statement whose texts are messages, without them."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return statement
