"""Files and values after --configfile and --config, whose mistakes Snakemake names without file and line.

profiles/default/profile.yaml calls `check` when Snakemake reads it, before anything else.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.common.errors import InputError, raise_together
from pipeline.common.yaml_files import read_yaml

OWN_FILE = Path(__file__).parents[2] / "config" / "config.yaml"  # named in the Snakefile
FILES, VALUES = ("--configfile", "--configfiles"), ("--config", "-C")  # options and their other names
HEADING = "The command has mistakes (name targets before --configfile and --config):"


def check(arguments: Sequence[str]) -> None:
    """End with one message if the configuration of a command cannot be read."""
    try:
        raise_together(_mistakes(arguments), HEADING)
    except InputError as error:
        sys.exit(f"error: {error}")


def _mistakes(arguments: Sequence[str]) -> Iterator[str]:
    for path in (OWN_FILE, *map(Path, _values_after(arguments, FILES))):
        try:
            read_yaml(path)
        except (InputError, OSError) as error:
            yield str(error)
    for value in _values_after(arguments, VALUES):
        if not re.match(r"[a-zA-Z_]\w*=", value):
            yield f"--config: found {value!r}, expected KEY=VALUE, such as 'training={{epochs: 3}}'"
    for options in (FILES, VALUES):
        if sum(argument.partition("=")[0] in options for argument in arguments) > 1:
            yield f"{options[0]}: given twice, of which Snakemake reads only the last; give all values once"


def _values_after(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Values of an option that takes all up to the next option."""
    values: list[str] = []
    taking = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("-"):
            taking = name in options
            values += [value] if taking and equals else []
        elif taking:
            values.append(argument)
    return values
