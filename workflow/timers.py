"""A repair of Snakemake 9.27's scheduler, whose timers multiply (its pull request 3744).

With its limit of jobs per second, which is on by default, every finished job begins one more endless chain
of timers of one second. Each timer has the parameters of all ready jobs computed again, so the controller of
a run of hundreds of jobs ends with hundreds of threads and a core of its own.
"""

import threading
from typing import Any

from snakemake.scheduling.job_scheduler import JobScheduler


def schedule_reevaluation(self: Any, delay: float) -> None:
    """Wake the scheduler after a delay, with at most one timer at a time.

    No timer is needed while the limit leaves jobs free and some job runs, whose end wakes the scheduler.
    """
    limit = self.job_rate_limiter
    if limit is not None and delay == limit.timespan and self.running and limit.get_free_jobs():
        return
    pending = getattr(self, "pending_timer", None)
    if pending is None or not pending.is_alive():
        self.pending_timer = threading.Timer(delay, self._open_jobs.release)
        self.pending_timer.daemon = True  # ends with Snakemake
        self.pending_timer.start()


def repair_timers() -> None:
    """Have Snakemake's scheduler use `schedule_reevaluation`."""
    JobScheduler._schedule_reevalutation = schedule_reevaluation
