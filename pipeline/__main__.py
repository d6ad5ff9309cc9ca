"""Command line: `python -m pipeline COMMAND ...` runs one stage of the pipeline on files."""

import sys

from pipeline import cli
from pipeline.stages import STAGES


def main() -> int:
    """Run the stage that the command line names, and return the exit status."""
    return cli.main(STAGES, "python -m pipeline", __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
