"""Every command explains itself and each of its options."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ROOT

from pipeline.cli import NOT_OPTIONS, explanations, parameters
from pipeline.stages import STAGES, Stage
from search.stages import STAGES as SEARCH_STAGES

ALL = STAGES | SEARCH_STAGES


@pytest.mark.parametrize("stage", ALL.values(), ids=list(ALL))
def test_every_option_is_explained(stage: Stage) -> None:
    texts = {each.name: each.help for each in parameters(stage.function) if each.name not in NOT_OPTIONS}
    assert [name for name, text in texts.items() if len(text) < 3 or text[-1] in ",;:"] == []
    assert stage.summary[-1].isalnum() or stage.summary[-1] == ")"


def test_a_text_loses_its_full_stop_and_keeps_an_ellipsis() -> None:
    docstring = """Act.

    Args:
        steps: how many
            there are. At least one.
        first, second: JSON: tokens, seed, ...

    Raises:
        ValueError: never.
    """
    expected = {"steps": "how many there are. At least one"}
    assert explanations(docstring.replace("\n    ", "\n")) == expected | dict.fromkeys(
        ["first", "second"], "JSON: tokens, seed, ..."
    )


CODE = [path for folder in ("pipeline", "search", "workflow") for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_text_over_several_lines_is_whole(path: Path) -> None:
    """A line of `Args:` that lost its indent ends the help; a string on its own line is not part of any."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    assert [line for node in blocks for line in _lost_lines(node)] == []


def _lost_lines(node: ast.AST) -> Iterator[str]:
    documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    docstring = (ast.get_docstring(node) if documented else None) or ""  # type: ignore[arg-type]
    for section in re.findall(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)", docstring, re.M):
        yield from re.findall(r"^    (?! |[`\w.]+(?:, [`\w.]+)*: ).*", section, re.M)
    for statement in node.body[bool(docstring) :]:  # type: ignore[attr-defined]
        if isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant, ast.JoinedStr)):
            text = ast.unparse(statement)
            if text != "...":
                yield text
