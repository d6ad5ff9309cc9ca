"""The files and keys of a command line, checked here because Snakemake would print a traceback.

profiles/default/profile.yaml calls `check` when Snakemake reads it, before anything else.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.common.errors import InputError, raise_together
from pipeline.common.yaml_files import yaml_mistakes, yaml_text_mistake

_KEY = re.compile(r"[a-zA-Z_][\w-]*\w")  # any other encoding ends Snakemake with a traceback
_SHORT = re.compile(r"(-[Cc])(.+)", re.DOTALL)
OWN_FILE = Path("config", "config.yaml")  # named in the Snakefile
_FILES, _VALUES = ("--configfile", "--configfiles"), ("--config", "-C")  # options and their other names


def check(arguments: Sequence[str]) -> None:
    """End with one message if Snakemake cannot work with the folder, the files or the values of a command."""
    arguments = [part for argument in arguments for part in _split_option(argument)]
    files, values = _values_after(arguments, *_FILES), _values_after(arguments, *_VALUES)
    mistakes = [*_folder_mistakes(), *(mistake for name in files for mistake in _file_mistakes(name))]
    mistakes += yaml_mistakes(OWN_FILE) if OWN_FILE.exists() else []
    mistakes += [*map(_value_mistake, values), *_repeated_options(arguments), *_repeated_keys(values)]
    mistakes += _core_mistakes(_values_after(arguments, "--cores", "-c"))
    mistakes += _cache_mistakes()
    try:
        raise_together(filter(None, mistakes), "The command has mistakes:")
    except InputError as error:
        sys.exit(f"error: {error}")


def _folder_mistakes() -> Iterator[str]:
    """Snakemake fills in the paths of the workflow's own files, which are absolute and without links."""
    if {"{", "}"} & set(folder := os.getcwd()):
        yield f"{folder}: has braces, which Snakemake takes for a wildcard; rename the folder"


def _split_option(argument: str) -> Sequence[str]:
    """An option of one letter and its value, which may be written as one word: -c8."""
    match = _SHORT.fullmatch(argument)
    return match.groups() if match else [argument]


def _repeated_options(arguments: Sequence[str]) -> Iterator[str]:
    """Options that are given twice, where Snakemake would silently drop the earlier values."""
    for options in (_FILES, _VALUES):
        count = sum(argument.partition("=")[0] in options for argument in arguments)
        if count > 1:
            yield (
                f"{options[0]}: given {count} times, of which Snakemake reads only the last; give it once, "
                "followed by everything that it should read"
            )


def _repeated_keys(values: Sequence[str]) -> Iterator[str]:
    """Keys that are given twice, where Snakemake would silently take the last value."""
    keys = [value.partition("=")[0] for value in values]
    for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
        yield f"--config: {key} is given {keys.count(key)} times; give it once"


def _core_mistakes(values: Sequence[str]) -> Iterator[str]:
    """Without a core Snakemake would wait for ever to begin its first job."""
    if values[:1] == ["0"]:
        yield "--cores: found 0, expected 1 or more, or all"


def _cache_mistakes() -> Iterator[str]:
    """Snakemake makes a folder for what it downloads, whether or not it downloads anything."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(home if os.path.isabs(home) else "~/.cache", "snakemake")  # relative paths are ignored
    try:
        folder.expanduser().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.expanduser()):
            pass
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home folder
        reason = getattr(error, "strerror", None) or error
        yield f"{folder}: cannot be written ({reason}). Set XDG_CACHE_HOME to a writable folder"


def _values_after(arguments: Sequence[str], *options: str) -> list[str]:
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


def _file_mistakes(name: str) -> list[str]:
    path = Path(name)
    if path.suffix in (".csv", ".html") and path.parts[0] == "results":
        return [f"--configfile: {name}: a target, expected only YAML files; name targets before --configfile"]
    place = "" if path.exists() else f" (paths start from {os.getcwd()})"
    return [f"--configfile: {mistake}{place}" for mistake in yaml_mistakes(path)]


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
    mistake = yaml_text_mistake(rest)
    return f"--config: {key}: {mistake}" if mistake else ""
