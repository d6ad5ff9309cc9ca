"""The files and keys of a command line, checked here because Snakemake would print a traceback.

profiles/default/profile.yaml calls `check` as Snakemake reads it, which is first of all.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from pipeline.common.errors import InputError, raise_together
from pipeline.common.text_files import utf8_mistake
from pipeline.settings.reading import check_keys

_KEY = re.compile(r"[a-zA-Z_][\w-]*\w")  # Snakemake ends in a traceback at any other
MOST = 100_000  # values of a file
_FILES, _VALUES = ("--configfile", "--configfiles"), ("--config", "-C")  # options and their other names


def check(arguments: Sequence[str]) -> None:
    """End with one message where a file after --configfile or a value after --config cannot be read."""
    files, values = _after(arguments, *_FILES), _after(arguments, *_VALUES)
    mistakes = [*map(_file_mistake, files), *map(_value_mistake, values), *_given_twice(arguments)]
    mistakes += _no_cores(_after(arguments, "--cores", "-c"))
    try:
        raise_together(filter(None, mistakes), "The command has mistakes:")
        check_keys(files)
    except InputError as error:
        sys.exit(f"error: {error}")


def _given_twice(arguments: Sequence[str]) -> Iterator[str]:
    """Options whose earlier values Snakemake would drop without a word."""
    for options in (_FILES, _VALUES):
        count = sum(argument.partition("=")[0] in options for argument in arguments)
        if count > 1:
            yield (
                f"{options[0]}: given {count} times, of which Snakemake reads the last alone; give it once, "
                "followed by everything that it should read"
            )


def _no_cores(values: Sequence[str]) -> Iterator[str]:
    """Without a core Snakemake would wait for ever to begin its first job."""
    if values[:1] == ["0"]:
        yield "--cores: found 0, expected 1 or more, or all"


def _after(arguments: Sequence[str], *options: str) -> list[str]:
    """Values of an option that takes all up to the next option."""
    found: list[str] = []
    taking = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("-"):
            taking = name in options
            found += [value] if taking and equals else []
        elif taking:
            found.append(argument)
    return found


def _file_mistake(name: str) -> str:
    path = Path(name)
    if path.suffix in (".csv", ".html") and path.parts[0] == "results":
        return f"--configfile: {name}: a target, expected only YAML files; name targets before --configfile"
    if path.is_dir() or not path.exists():
        found = "a folder" if path.is_dir() else "not there"
        return f"--configfile: {name}: {found}, expected a YAML file (paths start from {os.getcwd()})"
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if expanded_size(yaml.compose(text, yaml.SafeLoader)) > MOST:
            return f"--configfile: {name}: its aliases stand for more than {MOST:,} values; write them out"
        content = yaml.load(text, yaml.SafeLoader)
    except UnicodeDecodeError as error:
        return f"--configfile: {name}: {utf8_mistake(error)}; save it in UTF-8"
    except OSError as error:
        return f"--configfile: {name}: cannot be read: {error.strerror}"
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return f"--configfile: {name}: {' '.join(_yaml_mistake(error))}"
    if not isinstance(content, dict):
        found = "nothing" if content is None else type(content).__name__
        return f"--configfile: {name}: found {found}, expected `key: value` lines in YAML"
    return ""


def expanded_size(node: yaml.Node | None, sizes: dict[int, int] | None = None) -> int:
    """Values that a YAML document stands for once its aliases are written out; few lines can be billions.

    Raises:
        ValueError: an anchor stands in itself.
    """
    sizes = {} if sizes is None else sizes
    if id(node) not in sizes:
        sizes[id(node)] = -1  # being counted
        inner = node.value if isinstance(node, yaml.SequenceNode | yaml.MappingNode) else []
        parts = [part for item in inner for part in (item if isinstance(item, tuple) else (item,))]
        sizes[id(node)] = 1 + sum(expanded_size(part, sizes) for part in parts)
    if sizes[id(node)] < 0:
        raise ValueError("an anchor stands in itself")
    return sizes[id(node)]


def _yaml_mistake(error: Exception) -> Iterator[str]:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    yield "not YAML:"
    if mark:
        yield f"line {mark.line + 1}, column {mark.column + 1}:"
    yield problem or str(error).partition("\n")[0]
    if problem and "character '\\t'" in problem:
        yield "(a tab; indent with spaces)"


def _value_mistake(value: str) -> str:
    key, equals, rest = value.partition("=")
    if not equals:
        return f"--config: found {value!r}, expected KEY=VALUE; name targets before --config"
    if "." in key:
        block = rest
        for part in reversed(key.split(".")[1:]):
            block = f"{{{part}: {block}}}"
        return (
            f"--config: found {value!r}, which has no meaning; write --config '{key.split('.')[0]}={block}', "
            "or the key in a YAML file after --configfile"
        )
    if not _KEY.fullmatch(key):
        return f"--config: found {value!r}, expected KEY=VALUE with a key of the configuration and no blanks"
    return ""
