"""The logs of a run's jobs."""

import os
import sys
from pathlib import Path
from typing import Any


def empty_logs(persistence: Any) -> None:
    """Empty the logs of all jobs to run: one that a queue ends before its command would show an older log.

    Args:
        persistence: Snakemake's records, with `dag`, the graph of jobs.
    """
    for job in persistence.dag.needrun_jobs():
        for path in filter(os.path.exists, job.log):
            os.truncate(path, 0)


def show_warnings(persistence: Any) -> None:
    """Print the warnings of the jobs that have finished: their own output is only in their logs.

    Without them, no table would show that its model's pretraining failed, say.
    """
    for job in persistence.dag.finished_jobs:
        for path in filter(os.path.exists, job.log):
            for line in Path(path).read_text("utf-8", "replace").splitlines():
                if warning := line.partition(" warning: ")[2]:
                    print(f"warning: {warning} ({path})", file=sys.stderr)
