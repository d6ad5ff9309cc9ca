"""Command lines of stages: `python -m pipeline STAGE ...`, from the table and the functions that it names.

A function's parameters are the options, its docstring's `Args:` explain them. Both are read from the source,
so that help and messages about arguments or edited code need no large import.
"""

import argparse
import ast
import inspect
import io
import logging
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pipeline.common.block import LARGEST
from pipeline.common.errors import InputError, error_message
from pipeline.common.files import named_file_lists, named_files
from pipeline.common.gpus import take_gpu
from pipeline.common.json_text import json_value
from pipeline.common.signals import Interrupted, raise_on_signal
from pipeline.digest import digest, path_of
from pipeline.stages import Stage

REQUIRED = inspect.Parameter.empty
NOT_OPTIONS = ("code", "gpus")  # parameters without an option of their own
_OPTIONS_USED = " given"  # attribute of the parsed arguments: the options given by the user


class Parameter(NamedTuple):
    """A parameter of a stage's function; positional parameters come before the `/` of its signature."""

    name: str
    kind: Any
    default: Any
    help: str
    positional: bool


def main(stages: Mapping[str, Stage], program: str, about: str) -> int:
    """Run the stage that the command line names, and return the exit status."""
    stage, words = chosen_stage(stages, program, about, sys.argv[1:])
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Like stderr, because not every terminal can print all characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    return exit_status(lambda: run(stage, program, words))


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


def chosen_stage(
    stages: Mapping[str, Stage], program: str, about: str, words: Sequence[str]
) -> tuple[Stage, Sequence[str]]:
    """The stage that a command line begins with, and the rest of it; ends the program after an overview."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=about,
        epilog=overview(stages),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = list(dict.fromkeys(name.split()[0] for name in stages))
    parser.add_argument(
        "stage", choices=commands, metavar="COMMAND", help=f"`{program} COMMAND --help` explains its options"
    )
    name = parser.parse_args(words[:1]).stage
    if name in stages:
        return stages[name], words[1:]
    actions = {title.split()[1]: stage for title, stage in stages.items() if title.split()[0] == name}
    parser = argparse.ArgumentParser(prog=f"{program} {name}")
    parser.add_argument("action", choices=list(actions), metavar="ACTION", help=", ".join(actions))
    return actions[parser.parse_args(words[1:2]).action], words[2:]


def overview(stages: Mapping[str, Stage]) -> str:
    """The stages with their summaries, by group."""
    width = max(map(len, stages)) + 2
    groups: dict[str, list[str]] = {}
    for name, stage in stages.items():
        groups.setdefault(stage.group, []).append(f"  {name:{width}}{stage.summary}")
    return "\n\n".join("\n".join([f"{group}:", *lines]) for group, lines in groups.items())


def run(stage: Stage, program: str, words: Sequence[str]) -> None:
    """Run one stage with the rest of a command line.

    Raises:
        InputError: the digest of its code is not the one in `--code`.
    """
    options = parameters(stage.function)
    values = vars(parser_of(stage, program, options).parse_args(words))
    values.pop(_OPTIONS_USED, None)
    planned_digest, gpus = values.pop("code"), values.pop("gpus", 0)
    parts = stage.parts(values)
    if planned_digest not in (None, digest(stage, parts)):
        raise InputError(
            f"the code of {stage.name} was edited after this run of Snakemake began, which would record the "
            "job with the earlier code. Undo the edit, or start the run again: what is finished is kept."
        )
    own_values = {"code": digest(stage, parts, whole=True), "gpus": gpus}
    values |= {each.name: own_values[each.name] for each in options if each.name in own_values}
    if stage.idle_threads_sleep:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch loads its OpenMP
    if stage.gpu:
        take_gpu(gpus)
    module, _, name = stage.function.partition(":")
    positional = [values.pop(each.name) for each in options if each.positional]
    getattr(import_module(module), name)(*positional, **values)


def parser_of(stage: Stage, program: str, options: Sequence[Parameter]) -> argparse.ArgumentParser:
    """The parser of a stage's options."""
    summary = f"{stage.summary[0].upper()}{stage.summary[1:]}."
    parser = argparse.ArgumentParser(prog=f"{program} {stage.name}", description=summary)
    parser.register("action", None, _Once)
    for each in options:
        if each.name not in NOT_OPTIONS:
            name = each.name if each.positional else f"--{each.name.replace('_', '-')}"
            parser.add_argument(name, **_options(each))
    if stage.gpu:
        text = "1: one GPU, reserved for this job; 0 (default): the CPU"
        parser.add_argument("--gpus", type=int, choices=(0, 1), default=0, help=text)
    text = "digest of the code that the job was planned with, which rules pass; the job refuses other code"
    parser.add_argument("--code", metavar="DIGEST", help=text)
    return parser


def _options(parameter: Parameter) -> dict[str, Any]:
    """How argparse reads a parameter."""
    options = _reading(parameter.kind, f"--{parameter.name}")
    text = parameter.help.replace("%", "%%")
    if parameter.kind is bool:
        return {**options, "help": text}
    if parameter.default is not REQUIRED:
        options["default"] = list(parameter.default) if parameter.default == () else parameter.default
        if parameter.default not in (None, "", ()):
            text = f"{text} (default: {parameter.default})"
        if options.get("nargs") == "+":
            options["nargs"] = "*"
    elif not parameter.positional:
        options["required"] = True
    return {**options, "help": text}


def _reading(kind: Any, option: str) -> dict[str, Any]:
    """How argparse reads the values of an annotation."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is bool:
        return {"action": "store_true"}
    if origin is Literal:
        return {"choices": arguments}
    if origin is UnionType and arguments[1:] == (NoneType,):
        options = _reading(arguments[0], option)
        return {**options, "type": _or_none(options["type"])} if "type" in options else options
    if origin is Mapping:
        read = named_files if arguments[1] is Path else named_file_lists
        return {"action": _NamedFiles, "const": read, "nargs": "+", "metavar": "NAME=FILE"}
    if origin is Sequence and get_origin(arguments[0]) is Mapping:
        return {"type": json_list, "metavar": "JSON"}
    if origin is Sequence:
        return {**_reading(arguments[0], option), "nargs": "+", "action": "extend"}
    if hasattr(kind, "parse"):
        return {"type": _option_reader(kind.parse, option)}
    if kind is int:
        return {"type": partial(_whole_number, most=LARGEST if option == "--seed" else None)}
    if kind in (Path, str, float):
        return {"type": kind}
    raise TypeError(f"a stage's parameter has no command line: {kind}")


def _whole_number(text: str, most: int | None) -> int:
    """The number of an option; argparse's error shows what was found instead.

    Args:
        most: the largest that is allowed, from 0; None: the stage itself checks it.
    """
    expected = "a whole number" if most is None else f"a whole number from 0 to {most}"
    number = int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else None
    if number is None or (most is not None and not 0 <= number <= most):
        raise argparse.ArgumentTypeError(f"found {text[:40]!r}, expected {expected}")
    return number


def _option_reader(parse: Callable[[str], object], option: str) -> Callable[[str], object]:
    """The reader of an option whose value a class parses; the option is named in its errors."""

    def value(text: str) -> object:
        try:
            return parse(text)
        except InputError as error:
            raise InputError(f"{option}: {error}") from None

    return value


def _or_none(read: Callable[[str], object]) -> Callable[[str], object]:
    """Read an empty text as None."""

    def reader(text: str) -> object:
        return read(text) if text else None

    reader.__name__ = getattr(read, "__name__", "value")  # argparse names it in its messages
    return reader


class _Once(argparse.Action):
    """An option that may be given only once; argparse would silently keep the last value."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: object, option: str | None = None
    ) -> None:
        options = namespace.__dict__.setdefault(_OPTIONS_USED, set())
        if option and self.dest in options:
            parser.error(f"argument {option}: given twice; give it once")
        options.add(self.dest)
        setattr(namespace, self.dest, values)


class _NamedFiles(_Once):
    """Files by name; `const` reads them from values of the form NAME=FILE."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: object, option: str | None = None
    ) -> None:
        assert callable(self.const)
        super().__call__(parser, namespace, self.const(values), option)


def json_list(text: str) -> list[object]:
    """Parse a JSON list; argparse's error shows what was found instead."""
    expected = 'a list, such as [1, "b"]'
    try:
        value = json_value(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}; expected {expected}") from None
    if not isinstance(value, list):
        raise argparse.ArgumentTypeError(f"found {text[:60]}; expected {expected}")
    return value


def parameters(function: str) -> list[Parameter]:
    """The parameters of a function, given as MODULE:FUNCTION, whose module is not imported."""
    module, _, name = function.partition(":")
    names = _Names(module)
    (node,) = [node for node in names.tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    texts = explanations(ast.get_docstring(node) or "")
    positional = {argument.arg for argument in node.args.posonlyargs}
    return [
        Parameter(
            argument.arg,
            names.value(argument.annotation),
            REQUIRED if default is None else names.value(default),
            texts.get(argument.arg, ""),
            argument.arg in positional,
        )
        for argument, default in _with_defaults(node.args)
    ]


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    first = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(first) - len(arguments.defaults))
    yield from zip(first, [*missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


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


class _Names(dict[str, Any]):
    """The names in the signatures of a module. Of this project, only modules of classes are imported."""

    def __init__(self, module: str):
        super().__init__()
        path = path_of(module)
        assert path, module
        self.module, self.tree = module, ast.parse(path.read_text(encoding="utf-8"))

    def value(self, node: ast.expr | None) -> Any:
        """What an annotation or a default is."""
        assert node, f"a parameter in {self.module} has no annotation"
        return eval(compile(ast.Expression(node), self.module, "eval"), {}, self)

    def __missing__(self, name: str) -> Any:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return self.value(node.value)
            if isinstance(node, ast.ClassDef) and node.name == name:
                return getattr(import_module(self.module), name)
            if isinstance(node, ast.ImportFrom) and (original := _original_name(node, name)):
                if path_of(node.module or ""):
                    return _Names(node.module or "")[original]
                return getattr(import_module(node.module or ""), original)
        raise KeyError(name)  # a builtin


def _original_name(node: ast.ImportFrom, name: str) -> str | None:
    """The original name of a name that a statement imports; None if it does not import the name."""
    return next((alias.name for alias in node.names if name == (alias.asname or alias.name)), None)
