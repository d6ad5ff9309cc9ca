"""Digest of the code that a stage runs, so that an edit reruns the stages that import it and no others.

Comments, docstrings, layout and the wording of errors and log lines do not count. Nor do names of modules: a
file that moves reruns nothing.
"""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pipeline.common.files import atomic_write
from pipeline.datasets.languages import LANGUAGES, language
from pipeline.stages import EVERY_LANGUAGE, STAGES, Stage, language_row

ROOT = Path(__file__).parents[1]
PACKAGES = ("pipeline", "search")

# Modules that log, save or check a result, but never change it.
WITHOUT_EFFECT = {
    "pipeline.common.block",
    "pipeline.common.errors",
    "pipeline.common.files",
    "pipeline.common.signals",
    "pipeline.common.progress",
    "pipeline.training.monitor",
    "pipeline.digest",
    "pipeline.stages",
    # These name modules, which count where they are used (`Stage.parts`).
    "pipeline.datasets.sources",
    "pipeline.datasets.languages",  # the rows of languages name modules too
    "pipeline.registry",
}


@cache
def digest(stage: Stage | str, parts: tuple[str, ...] | None = None, whole: bool = False) -> str:
    """Digest of all modules of this project that a stage imports, directly or not.

    Args:
        parts: modules that it imports by name only for some arguments; None: the modules for any arguments
            (`Stage.parts`).
        whole: with the modules of `Stage.outside`.
    """
    stage = STAGES[stage] if isinstance(stage, str) else stage
    queue = [stage.module, *(stage.parts({}) if parts is None else parts)]
    excluded_modules = WITHOUT_EFFECT if whole else WITHOUT_EFFECT | stage.outside
    codes: dict[str, Code] = {}
    while queue:
        module = queue.pop()
        if module in codes or module in excluded_modules or module.endswith(".settings"):
            continue  # classes of settings do not count: their values are in the job's parameters
        if code := code_of(module):
            codes[module] = code
            queue.extend(code.imports)
    # An import counts by the imported module's content: the same name from another module is different code.
    lines = [
        " ".join([code.text, *(codes[module].text for module in code.imports if module in codes)])
        for code in codes.values()
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


class Code(NamedTuple):
    """A digest of a module's text, and this project's modules that it imports, in the order of its lines."""

    text: str
    imports: tuple[str, ...]


# The code at the start of a run. Each job in a queue reads the workflow again and needs this code.
_plan_codes: dict[str, Code] = {}


def save_code(file: Path) -> None:
    """Write down the code of all modules and languages, for `plan_with`."""
    paths = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
    names += map(language_row, (*LANGUAGES, EVERY_LANGUAGE))
    with atomic_write(file) as temporary:
        temporary.write_text(json.dumps({name: code_of(name) for name in names}), encoding="utf-8")


def plan_with(file: Path) -> None:
    """Compute later digests from the code that `save_code` stored; without it, from the files."""
    if file.exists():
        codes = json.loads(file.read_text(encoding="utf-8"))
        _plan_codes.update({module: Code(text, tuple(imports)) for module, (text, imports) in codes.items()})


@cache
def code_of(module: str) -> Code | None:
    """The code of a module, or a row of the table of languages; None if this project has no such module."""
    if module in _plan_codes:
        return _plan_codes[module]
    if ":" in module:
        row = module.partition(":")[2]
        return Code(repr(LANGUAGES if row == EVERY_LANGUAGE else language(row)), ())
    path = path_of(module)
    return None if path is None else code_of_text(path.read_text(encoding="utf-8"))


def path_of(module: str) -> Path | None:
    """The file of a module; None if this project has no such module."""
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None)


@cache
def code_of_text(text: str) -> Code:
    """The code of a module's text."""
    reader = _Reader()
    reader.read(ast.parse(text))
    return Code(hashlib.sha256(" ".join(reader.words).encode()).hexdigest()[:16], tuple(reader.imports))


class _Reader:
    """Writes a syntax tree down, without docstrings, messages and names of this project's modules."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.imports: list[str] = []

    def read(self, value: object, message: bool = False) -> None:
        """Append a node, a list of nodes or the fields of a node, as part of a message or not."""
        if isinstance(value, list):
            self.words.append("[")
            for item in value[_is_docstring(value) :]:
                self.read(item, message)
            self.words.append("]")
        elif isinstance(value, ast.AST):
            self._read_node(value, message)
        else:
            self.words.append(repr(value))

    def _read_node(self, node: ast.AST, message: bool) -> None:
        self.words.append(type(node).__name__)
        if isinstance(node, ast.Import | ast.ImportFrom) and (modules := _own_modules(node)):
            self.imports += modules
            if isinstance(node, ast.ImportFrom):
                self.words += map(ast.dump, node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return  # imported only for annotations
        elif message and isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.words.append("message")
        else:
            message = message or _is_message(node)
            for field, value in ast.iter_fields(node):
                # Python 3.12 and later have the field where 3.11 does not, and an upgrade reruns nothing.
                if value or field != "type_params":
                    self.words.append(field)
                    self.read(value, message)


def _is_docstring(body: list[object]) -> bool:
    """Whether a list of statements begins with a text."""
    first = body[0] if body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def _is_message(node: ast.AST) -> bool:
    """Whether a statement raises an error or writes to the log."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = ast.unparse(node.value.func)
        return function == "raise_together" or function.startswith("log.")
    return isinstance(node, ast.Raise)


def _own_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules of this project that a statement imports; names in a package may be modules, too."""
    names = [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
    return [name for name in names if name.split(".")[0] in PACKAGES]
