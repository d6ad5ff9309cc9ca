"""Command lines of stages: `python -m pipeline STAGE ...`.

The parameters of a stage's function are its options, and `Args:` of its docstring explains them.
"""

import argparse
import inspect
import io
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from pipeline import registry
from pipeline.common.errors import error_message
from pipeline.common.gpus import take_gpu
from pipeline.common.signals import Interrupted, raise_on_signal
from pipeline.stages import STAGES, Stage

PROGRAM = "python -m pipeline"
GPUS = "1: one GPU, reserved for this job; 0 (default): the CPU"


def main() -> int:
    """Run the stage that the command line names, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Runs one stage of the pipeline on files.",
        epilog=overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    text = f"`{PROGRAM} COMMAND --help` explains its options"
    parser.add_argument("stage", choices=list(STAGES), metavar="COMMAND", help=text)
    stage = STAGES[parser.parse_args(sys.argv[1:2]).stage]
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Like stderr, because not every terminal can print all characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    logging.addLevelName(logging.INFO, "")
    logging.addLevelName(logging.WARNING, "warning: ")  # read by pipeline/plan/job_logs.py
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s%(message)s", datefmt="%H:%M:%S")
    return exit_status(lambda: run(stage, sys.argv[2:]))


def exit_status(work: Callable[[], None]) -> int:
    """The exit status of a program after some work.

    1, with one message, for an error that a user can fix (input, disk, memory, network); 128 plus its number
    for a signal. A mistake in the code keeps its traceback.
    """
    try:
        with raise_on_signal():
            work()
    except BrokenPipeError:  # the reader has gone, as in `search ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Interrupted as end:
        print(end, file=sys.stderr)
        return 128 + end.number
    except Exception as error:
        if not (message := error_message(error)):
            raise
        print(f"error: {message}", file=sys.stderr)
        return 1
    return 0


def overview() -> str:
    """The stages with their summaries, by package."""
    width = max(map(len, STAGES)) + 2
    groups: dict[str, list[str]] = {}
    for name, stage in STAGES.items():
        groups.setdefault(stage.package, []).append(f"  {name:{width}}{stage.summary}")
    return "\n\n".join("\n".join([f"{group}:", *lines]) for group, lines in groups.items())


def run(stage: Stage, words: Sequence[str]) -> None:
    """Run one stage with the rest of a command line."""
    if stage.idle_threads_sleep:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch loads its OpenMP
    function = registry.load(stage.function)
    parameters = inspect.signature(function, eval_str=True).parameters
    values = vars(parser_of(stage).parse_args(words))
    if stage.gpu:
        take_gpu(values["gpus"])
    positional = [values[name] for name, each in parameters.items() if each.kind is each.POSITIONAL_ONLY]
    named = {name: values[name] for name, each in parameters.items() if each.kind is not each.POSITIONAL_ONLY}
    function(*positional, **named)


def parser_of(stage: Stage) -> argparse.ArgumentParser:
    """The parser of a stage's options; imports the module of its function."""
    function = registry.load(stage.function)
    text = inspect.getdoc(function) or ""
    description = " ".join(text.partition("\n\n")[0].split())
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} {stage.name}", description=description)
    texts = explanations(text)
    for each in inspect.signature(function, eval_str=True).parameters.values():
        if each.name != "gpus":
            positional = each.kind is each.POSITIONAL_ONLY
            name = each.name if positional else f"--{each.name.replace('_', '-')}"
            parser.add_argument(name, **_reading(each), help=_help(each, texts.get(each.name, "")))
    if stage.gpu:
        parser.add_argument("--gpus", type=int, choices=(0, 1), default=0, help=GPUS)
    return parser


def _help(parameter: inspect.Parameter, text: str) -> str:
    plain = parameter.annotation is bool or parameter.default in (parameter.empty, None, "", ())
    return f"{text}{'' if plain else f' (default: {parameter.default})'}".replace("%", "%%")


def _reading(parameter: inspect.Parameter) -> dict[str, Any]:
    """How argparse reads a parameter. An optional one without a value has its default, as rules need it."""
    kind, optional = _without_none(parameter.annotation), parameter.default is not parameter.empty
    if kind is bool:
        return {"action": "store_true"}
    options: dict[str, Any] = {}
    if optional:
        options = {"default": parameter.default, "const": parameter.default, "nargs": "?"}
    elif parameter.kind is not parameter.POSITIONAL_ONLY:
        options = {"required": True}
    if get_origin(kind) is Sequence:
        kind = get_args(kind)[0]
        options |= {"nargs": "*" if optional else "+", "action": "extend"}
        options.pop("const", None)
        if parameter.default == ():
            options["default"] = []
    if get_origin(kind) is Literal:
        return options | {"choices": get_args(kind)}
    return options | {"type": getattr(kind, "parse", kind)}  # a block of settings is JSON


def _without_none(kind: Any) -> Any:
    """The type X of X | None."""
    return get_args(kind)[0] if get_origin(kind) is UnionType and NoneType in get_args(kind) else kind


def explanations(docstring: str) -> dict[str, str]:
    """The description of each parameter under `Args:` of a docstring."""
    _, _, section = docstring.partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", section)[0]
    items = re.findall(r"^    (\w[\w, ]*): (.*(?:\n(?:     .*)?)*)", section, re.M)
    return {
        name.strip(): re.sub(r"(?<!\.)\.$", "", " ".join(text.split()))
        for names, text in items
        for name in names.split(",")
    }
