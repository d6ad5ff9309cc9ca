"""Targets of the command in results/: which exist, which are mistakes, and warnings about them."""

import os
import re
from collections.abc import Iterable, Mapping

from pipeline import settings as configuration
from pipeline.common.block import did_you_mean
from pipeline.common.errors import InputError
from pipeline.plan.cells import table_names, target_tables
from pipeline.plan.plan import Plan, either

# Results that no table of config/tables fills: with a comparison, as all those tables have, and without.
COMPARED = (*configuration.OTHER_TABLES, "claims")
SINGLE = (
    *("counts.csv", "translation-quality.csv"),
    *("figure3.html", "figure4.html", "report.html", "lessons/figure3.svg"),
    *(f"{name}.{kind}" for name in configuration.POINTS for kind in ("csv", "svg")),
)


def compared_results(plan: Plan) -> str:
    """A regular expression of the results that have a comparison, without `.csv`."""
    return f"{table_names(plan)}|{either(COMPARED)}"


def single_results(plan: Plan) -> str:
    """A regular expression of the results that have no comparison."""
    return f"{either(SINGLE)}|{_comparison_pattern(plan)}[.]csv"


def _files_by_name(plan: Plan) -> str:
    """A regular expression of tables, whole or some of their rows, and of comparisons of experiments."""
    return rf"(?:(?:comparison/)?{table_names(plan)}|{_comparison_pattern(plan)})[.]csv"


def _comparison_pattern(plan: Plan) -> str:
    return rf"compare/(?:{either(list(plan.datasets))})/[a-z0-9+-]+-vs-[a-z0-9+-]+"


def check_targets(plan: Plan, rules: Iterable[str]) -> None:
    """Check that a rule makes each target of the command, except targets in work/.

    Args:
        rules: names of all rules, which are targets too.

    Raises:
        InputError: no rule makes some target; the message names similar targets.
    """
    rules = list(rules)
    if mistakes := [mistake for target in plan.targets if (mistake := _mistake(plan, target, rules))]:
        raise InputError("\n  - ".join(["The command has mistakes:", *mistakes]))


def _mistake(plan: Plan, target: str, rules: list[str]) -> str:
    """The mistake in a target; empty for a valid target."""
    inside = os.path.relpath(target) if os.path.isabs(target) else target
    if wrong := _comparison_mistake(plan, inside):
        return f"{target}: {wrong}"
    results = _known_results(plan)
    by_name = re.fullmatch(rf"results/(?:{plan.scale}/)?{_files_by_name(plan)}", inside)
    if by_name or inside in results or inside in rules or "work/" in inside:
        return ""
    plain = os.path.normpath(inside)
    choices = results if plain.startswith("results") else rules
    return f"no target {target!r}{did_you_mean(plain, choices)}"


def _known_results(plan: Plan) -> list[str]:
    compared = [*COMPARED, *plan.tables]
    tables = [f"{folder}{name}.csv" for name in compared for folder in ("", "comparison/")]
    return [
        path(file) for path in (plan.results.latest, plan.results.of_scale) for file in (*SINGLE, *tables)
    ]


def _comparison_mistake(plan: Plan, target: str) -> str:
    """The mistake in a target of results/compare; empty for valid targets and all others."""
    match = re.fullmatch(rf"results/(?:{plan.scale}/)?compare/(.+)[.]csv", target)
    if not match:
        return ""
    parts = re.fullmatch(r"([^/]+)/([a-z0-9+-]+?)-vs-([a-z0-9+-]+)", match[1])
    if not parts:
        return "expected results/compare/DATASET/EXPERIMENT-vs-EXPERIMENT.csv, names in small letters"
    dataset, first, second = parts.groups()
    if dataset not in plan.datasets:
        return f"no data set {dataset!r}{did_you_mean(dataset, list(plan.datasets))}"
    return f"{first} is compared with itself" if first == second else ""


def target_warnings(plan: Plan, user: Mapping[str, object]) -> list[str]:
    """Warnings about user settings that some rows of the command's tables ignore.

    Args:
        user: the configuration that the user gave.

    Raises:
        InputError: a table has no such row.
    """
    return [
        warning
        for table in target_tables(plan)
        for warning in configuration.setting_warnings(plan.settings, user, table)
    ]
