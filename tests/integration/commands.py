"""The commands of dry runs: every job's stage and options, parsed as the stage itself would."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from project import Project

from pipeline import cli
from pipeline.stages import STAGES, Stage
from search.stages import STAGES as SEARCH_STAGES

ALL = STAGES | SEARCH_STAGES


class Command(NamedTuple):
    """A job of a dry run. options: from the rule, with values. values: as the stage parses them."""

    stage: Stage
    options: dict[str, list[str]]
    values: dict[str, Any]


def announced_commands(project: Project, *targets: str) -> list[Command]:
    """The jobs that run a stage."""
    done = project.snakemake("-n", "-p", *targets)
    assert done.returncode == 0, done.stdout[-3000:]
    return list(_commands(done.stdout))


def _commands(output: str) -> Iterator[Command]:
    jobs = r"^Shell command: (?:exec )?python -m (pipeline|search) (\S+) (.*?) > \S+ 2>&1"
    for package, stage, options in re.findall(jobs, output, re.M):
        words = shlex.split(options)
        found = ALL[stage]
        parser = cli.parser_of(found, f"python -m {package}", cli.parameters(found.function))
        yield Command(found, option_values(words), vars(parser.parse_args(words)))


def option_values(words: list[str]) -> dict[str, list[str]]:
    """The values of each option of a command."""
    options: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            option, equals, value = word.removeprefix("--").partition("=")
            values = options.setdefault(option, [])
            values += [value] if equals else []
        else:
            values.append(word)
    return options
