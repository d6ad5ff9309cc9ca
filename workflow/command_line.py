"""Mistakes in a command that Snakemake takes for something else, or answers with a stack.

profiles/default/profile.yaml calls `check` when Snakemake reads it, before anything else. With another
profile, workflow/rules/common.smk is the first to call it.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from snakemake.cli import get_argument_parser

from pipeline.common.errors import InputError, raise_together
from pipeline.common.yaml_files import read_yaml

OWN_FILE = Path(__file__).parents[1] / "config" / "config.yaml"  # named in the Snakefile
HEADING = "The command has mistakes:"
TARGETS = ("results/", "work/")  # how files that can be asked for begin


def check(arguments: Sequence[str]) -> None:
    """End with one message if a command is not what it seems."""
    values, targets = _values_and_targets(arguments)
    try:
        if not targets:
            raise_together(_taken_targets(values), HEADING)
        raise_together(_mistakes(arguments, values), HEADING)
    except InputError as error:
        sys.exit(f"error: {error}")


def _taken_targets(values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for option, given in values.items():
        for value in given[1:]:
            if os.path.normpath(value).startswith(TARGETS):
                yield f"{option} takes {value} for a value of its own; write -- before {value}"


def _mistakes(arguments: Sequence[str], values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for path in (OWN_FILE, *map(Path, values["--configfile"])):
        try:
            read_yaml(path)
        except (InputError, OSError) as error:
            yield str(error)
    for value in values["--config"]:
        if not re.match(r"[a-zA-Z_]\w*=", value):
            yield f"--config: found {value!r}, expected KEY=VALUE, such as 'training={{epochs: 3}}'"
    names = [argument.partition("=")[0] for argument in arguments]
    for option, other in (("--configfile", "--configfiles"), ("--config", "-C")):
        if names.count(option) + names.count(other) > 1:
            yield f"{option}: given twice, of which Snakemake reads only the last; give all values once"


def _values_and_targets(arguments: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Values of the options that take several, by option, and targets, as Snakemake's parser reads them."""
    actions = get_argument_parser()._option_string_actions
    values: dict[str, list[str]] = {"--config": [], "--configfile": []}
    targets: list[str] = []
    taking, room = targets, len(arguments)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument == "--":
            taking, room = targets, len(arguments)
        elif argument.startswith("-"):
            action = actions.get(name)
            several = action is not None and action.nargs in ("+", "*")
            taking = values.setdefault(action.option_strings[0], []) if action and several else []
            room = len(arguments) if several else int(action is not None and action.nargs != 0)
            if equals:
                taking.append(value)
                room = 0
        else:
            (taking if room else targets).append(argument)
            room -= bool(room)
    return values, targets
