"""Command line: `python -m pipeline STAGE ...`, one stage of the chain, files in, files out."""

import argparse
import logging
import sys

import pipeline.captions.commands
import pipeline.images.commands
import pipeline.report.commands
import pipeline.retrieval.commands
import pipeline.sources.commands
import pipeline.sources.demo.commands
import pipeline.tables.commands
import pipeline.training.commands
import pipeline.translation.commands
import pipeline.words.commands
from pipeline.errors import InputError

ROOMS = (
    pipeline.sources.demo.commands,
    pipeline.sources.commands,
    pipeline.captions.commands,
    pipeline.images.commands,
    pipeline.translation.commands,
    pipeline.words.commands,
    pipeline.training.commands,
    pipeline.retrieval.commands,
    pipeline.tables.commands,
    pipeline.report.commands,
)


def main() -> int:
    """Run one stage; exit status 1 and one message for input that a user can mend."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="STAGE")
    for room in ROOMS:
        room.add_commands(subparsers)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        arguments.run(arguments)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
