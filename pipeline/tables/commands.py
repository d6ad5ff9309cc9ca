"""Commands of the tables room."""

import argparse
import json
from pathlib import Path


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `tabulate`."""
    parser = subparsers.add_parser(
        "tabulate", help="one table of a paper, and its numbers beside the paper's"
    )
    parser.add_argument("--settings", type=json.loads, required=True, help="JSON: scale, table, datasets")
    parser.add_argument("--evaluations", type=Path, nargs="+", required=True, help="what `evaluate` made")
    parser.add_argument("--papers", type=Path, required=True, help="CSV of the papers' numbers")
    parser.add_argument("--table", type=Path, required=True, help="CSV to write, as the paper prints it")
    parser.add_argument("--comparison", type=Path, required=True, help="CSV to write, one number a line")
    parser.set_defaults(run=_tabulate)


def _tabulate(arguments: argparse.Namespace) -> None:
    from pipeline.tables.tabulate import tabulate

    tabulate(
        arguments.settings,
        arguments.evaluations,
        arguments.papers,
        arguments.table,
        arguments.comparison,
    )
