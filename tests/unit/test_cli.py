"""A stage's command line: the parameters of its function are its options, which its docstring explains."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from pipeline import cli, registry
from pipeline.common.errors import InputError
from pipeline.images.settings import FeatureSettings
from pipeline.stages import STAGES, Stage

STAGE = Stage("act", f"{__name__}:act")

calls: list[dict[str, Any]] = []


def act(
    table: Path,
    /,
    words: Sequence[Path],
    settings: FeatureSettings | None = None,
    kind: Literal["a", "b"] = "a",
    seed: int = 0,
    report: Path | None = None,
    pretrained: Sequence[Path] = (),
    exact: bool = False,
) -> None:
    """Act.

    Args:
        table: a table, such as
            table4.csv. At least one.
        words, pretrained: files: 100% of them, ...

    Raises:
        ValueError: never.
    """
    calls.append(locals())


DEFAULTS: dict[str, Any] = {
    **{"settings": None, "kind": "a", "seed": 0, "report": None, "pretrained": []},
    "exact": False,
}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--report", "--pretrained", "--seed"], {}),  # as rules give files that a job does not have
        (["--report", "a.csv", "--pretrained", "a.pt"],
         {"report": Path("a.csv"), "pretrained": [Path("a.pt")]}),
        (["--kind", "b", "--seed", "3", "--exact"], {"kind": "b", "seed": 3, "exact": True}),
        (["--pretrained", "a.pt", "--pretrained", "b.pt"], {"pretrained": [Path("a.pt"), Path("b.pt")]}),
        (["--settings", '{"crop": 7}'], {"settings": FeatureSettings(crop=7)}),
    ],
)  # fmt: skip
def test_options_become_arguments(words: list[str], given: dict[str, Any]) -> None:
    cli.run(STAGE, ["t.csv", "--words", "a.h5", "b.h5", *words])
    expected = {"table": Path("t.csv"), "words": [Path("a.h5"), Path("b.h5")]}
    assert calls.pop() == expected | DEFAULTS | given


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["t.csv"], "required: --words"),
        (["t.csv", "--words"], "--words: expected at least one"),
        (["t.csv", "--words", "a", "--kind", "c"], "--kind: invalid choice"),
        (["t.csv", "--words", "a", "--settings", '{"corp": 7}'], "--settings: cannot be used"),
    ],
)
def test_a_mistake_names_the_option(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((SystemExit, InputError)) as end:
        cli.run(STAGE, words)
    assert message in capsys.readouterr().err + str(end.value)


def test_help_is_the_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(STAGE, ["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "table a table, such as table4.csv. At least one" in shown
    assert "files: 100% of them, ..." in shown


@pytest.mark.parametrize("stage", STAGES.values(), ids=list(STAGES))
def test_every_option_of_a_stage_is_explained(stage: Stage) -> None:
    function = registry.load(stage.function)
    texts = cli.explanations(inspect.getdoc(function) or "")
    unexplained = inspect.signature(function).parameters.keys() - texts.keys() - {"gpus", "code"}
    assert unexplained == set()
    assert cli.parser_of(stage).format_help()
