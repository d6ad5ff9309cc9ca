"""Command line: `python -m pipeline STAGE ...` runs one stage of the pipeline on files."""

import argparse
import logging
import os
import sys

import pipeline.datasets.commands
import pipeline.datasets.download_commands
import pipeline.demo.commands
import pipeline.evaluation.commands
import pipeline.images.commands
import pipeline.prefetch.commands
import pipeline.report.commands
import pipeline.tables.commands
import pipeline.training.commands
import pipeline.translation.commands
import pipeline.words.commands
import search.commands
from pipeline.common.errors import InputError, disk_trouble
from pipeline.common.gpus import gpu_trouble
from pipeline.common.signals import Interrupted, raise_on_signal
from pipeline.edited import VARIABLE, refuse_edited

PACKAGES = (
    pipeline.demo.commands,
    pipeline.datasets.download_commands,
    pipeline.datasets.commands,
    pipeline.images.commands,
    pipeline.translation.commands,
    pipeline.words.commands,
    pipeline.training.commands,
    pipeline.evaluation.commands,
    pipeline.tables.commands,
    pipeline.report.commands,
    search.commands,
    pipeline.prefetch.commands,
)


def main() -> int:
    """Run one stage.

    Exit status 1 and one message for input, a disk or a GPU's memory that a user can mend; 128 and its number
    for a signal.
    """
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="STAGE")
    for package in PACKAGES:
        package.add_commands(subparsers)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if before := os.environ.get(VARIABLE):
        refuse_edited(before)
    try:
        with raise_on_signal():
            arguments.run(arguments)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (OSError, RuntimeError) as error:
        said = disk_trouble(error) or gpu_trouble(error)
        if not said:
            raise
        print(f"error: {said}", file=sys.stderr)
        return 1
    except Interrupted as end:
        print(end, file=sys.stderr)
        return 128 + end.number
    return 0


if __name__ == "__main__":
    sys.exit(main())
