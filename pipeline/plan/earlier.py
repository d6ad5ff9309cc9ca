"""Outputs of jobs that run again, kept until the new outputs are complete.

Snakemake 9 deletes the outputs of a job before it starts and when it fails, and records the new inputs and
settings of a failed job as if it had finished. If such an output is missing but later results exist,
Snakemake does not run the job again: the old results would pass for new ones. Hence outputs of failed jobs
are restored and marked as incomplete, so that the next call reruns their jobs (`rerun-incomplete` in the
profiles).
"""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

EARLIER = Path(".snakemake", "earlier")


def keep_earlier(persistence: Any) -> None:
    """Hard link everything that this run of Snakemake will replace.

    Args:
        persistence: Snakemake's records, with `dag`, the graph of jobs.
    """
    forget_earlier()
    for job in persistence.dag.needrun_jobs():
        for path in filter(os.path.exists, job.output):
            if not os.path.isabs(path):
                _link(Path(path), EARLIER / path)


def restore_earlier(persistence: Any) -> None:
    """Restore the outputs of failed jobs as they were, and mark all unfinished jobs as incomplete."""
    for job in persistence.dag.needrun_jobs():
        for path in job.output:
            if not os.path.exists(path) and os.path.exists(EARLIER / path):
                _link(EARLIER / path, Path(path))
        persistence.started(job)
    forget_earlier()


def forget_earlier() -> None:
    shutil.rmtree(EARLIER, ignore_errors=True)


def _link(path: Path, other: Path) -> None:
    """Hard link a file, or the files of a folder, to `other`; copy them on a disk without links."""
    other.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.copytree(path, other, copy_function=_link_or_copy)
        else:
            _link_or_copy(path, other)


def _link_or_copy(path: str | Path, other: str | Path) -> None:
    try:
        os.link(path, other)
    except OSError:
        shutil.copy2(path, other)
