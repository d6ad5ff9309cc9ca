"""Command line: `python -m search COMMAND ...` searches images and sentences with a trained model."""

import sys

from pipeline.common.signals import exit_on_interrupt

if __name__ == "__main__":
    exit_on_interrupt()  # before the imports below, which take longest

from pipeline import cli
from search.stages import STAGES


def main() -> int:
    """Run the command that the command line names, and return the exit status."""
    return cli.main(STAGES, "python -m search", __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
