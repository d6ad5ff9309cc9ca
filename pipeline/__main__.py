"""Command line: `python -m pipeline STAGE ...` runs one stage of the pipeline on files."""

import argparse
import logging
import os
import sys

import pipeline.training.commands
from pipeline import cli
from pipeline.common.inputs import check_paths, watch_inputs
from pipeline.edited import VARIABLE, refuse_edited
from pipeline.stages import STAGES

# Packages whose stages the table does not have yet.
PACKAGES = (pipeline.training.commands,)


def main() -> int:
    """Run the stage that the command line names; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="STAGE")
    for package in PACKAGES:
        package.add_commands(subparsers)
    if sys.argv[1:2] and sys.argv[1] in subparsers.choices:
        words = sys.argv[1:]
        if "--code" in words:
            del words[(at := words.index("--code")) : at + 2]
        arguments = parser.parse_args(words)
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
        if before := os.environ.get(VARIABLE):
            refuse_edited(before)
        return cli.exit_status(lambda: _run(arguments))
    return cli.main(STAGES, "python -m pipeline", __doc__ or "")


def _run(arguments: argparse.Namespace) -> None:
    check_paths(vars(arguments).values())
    with watch_inputs():
        arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
