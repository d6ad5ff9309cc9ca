"""Timers of Snakemake's scheduler."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan

from workflow.timers import schedule_reevaluation

UPSTREAM = JobScheduler._schedule_reevalutation


def scheduler(running: bool, max_jobs: int = 100) -> Any:
    return SimpleNamespace(
        job_rate_limiter=JobRateLimiter(MaxJobsPerTimespan(max_jobs, "1s")),
        running={"a job"} if running else set(),
        _open_jobs=threading.Semaphore(0),
    )


def timers(schedule: Callable[[Any, float], None], of: Any, calls: int = 3) -> int:
    """How many timers some calls start."""
    before = set(threading.enumerate())
    for _ in range(calls):
        schedule(of, 1)
    started = [thread for thread in threading.enumerate() if thread not in before]
    for thread in started:
        thread.cancel()  # type: ignore[attr-defined]
        thread.join()
    return len(started)


def test_snakemake_starts_a_timer_with_every_call() -> None:
    """If this fails, Snakemake has fixed its scheduler: delete workflow/timers.py and its call."""
    assert UPSTREAM.__module__ == "snakemake.scheduling.job_scheduler"
    assert timers(UPSTREAM, scheduler(running=True)) == 3


def test_one_timer_is_pending_at_a_time() -> None:
    assert timers(schedule_reevaluation, scheduler(running=False)) == 1


def test_no_timer_is_needed_while_a_job_runs_and_the_limit_leaves_jobs_free() -> None:
    assert timers(schedule_reevaluation, scheduler(running=True)) == 0


def test_a_reached_limit_starts_a_timer() -> None:
    of = scheduler(running=True, max_jobs=2)
    of.job_rate_limiter.register_jobs(2)
    assert timers(schedule_reevaluation, of) == 1


def test_the_timer_wakes_the_scheduler() -> None:
    of = scheduler(running=False)
    schedule_reevaluation(of, 0.01)
    assert of._open_jobs.acquire(timeout=60)
