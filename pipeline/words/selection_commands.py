"""Command line of the captions and words of an experiment of *Lessons*."""

import argparse
from pathlib import Path

from pipeline.arguments import json_object


def add_select(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `select`."""
    parser = subparsers.add_parser("select", help="select the captions and words of an experiment of Lessons")
    parser.add_argument(
        "--settings",
        type=json_object,
        required=True,
        help="JSON: minimum_count, dimension, with_all_pairs, and for each of `languages` texts, tested_on, "
        "halves, half",
    )
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    parser.set_defaults(run=_select)


def _select(arguments: argparse.Namespace) -> None:
    from pipeline.words.selection import Chosen, write_selection

    settings = arguments.settings
    chosen = {
        language: Chosen(
            [Path(text) for text in of_language["texts"]],
            Path(of_language["tested_on"]),
            Path(of_language["halves"]) if of_language["halves"] else None,
            of_language["half"],
        )
        for language, of_language in settings["languages"].items()
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_selection(
        chosen,
        settings["minimum_count"],
        settings["dimension"],
        settings["with_all_pairs"],
        arguments.output,
    )
