"""Mistakes in a command that Snakemake takes for something else, or answers with a stack.

profiles/default/profile.yaml calls `check` when Snakemake reads it, before anything else. With another
profile, workflow/rules/common.smk is the first to call it.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from snakemake.cli import get_argument_parser

from pipeline.common.errors import InputError, raise_together
from pipeline.common.yaml_files import read_yaml

OWN_FILE = Path(__file__).parents[1] / "config" / "config.yaml"  # named in the Snakefile
TARGETS = ("results/", "work/")  # how files that can be asked for begin


def check(arguments: Sequence[str]) -> None:
    """End with one message if a command is not what it seems."""
    try:
        raise_together(_mistakes(arguments), "The command has mistakes:")
    except InputError as error:
        sys.exit(f"error: {error}")


def _mistakes(arguments: Sequence[str]) -> Iterator[str]:
    given = vars(get_argument_parser().parse_args(list(arguments)))
    for option, values in given.items() if not given["targets"] else ():
        for value in map(str, values) if isinstance(values, list | set) and len(values) > 1 else ():
            if os.path.normpath(value).startswith(TARGETS):
                yield f"--{option} takes {value} for a value of its own; write -- before {value}"
    for path in (OWN_FILE, *map(Path, given["configfile"] or ())):
        try:
            read_yaml(path)
        except (InputError, OSError) as error:
            yield str(error)
    for value in given["config"] or ():
        if not re.match(r"[a-zA-Z_]\w*=", value):
            yield f"--config: found {value!r}, expected KEY=VALUE, such as 'training={{epochs: 3}}'"
    names = [argument.partition("=")[0] for argument in arguments]
    for option, other in (("--configfile", "--configfiles"), ("--config", "-C")):
        if names.count(option) + names.count(other) > 1:
            yield f"{option}: given twice, of which Snakemake reads only the last; give all values once"
