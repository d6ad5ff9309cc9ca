"""Command line: `python -m pipeline COMMAND ...` runs one stage of the pipeline on files."""

import sys

from pipeline.cli import main

if __name__ == "__main__":
    sys.exit(main())
