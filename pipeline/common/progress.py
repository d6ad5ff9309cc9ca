"""Progress of long work as log lines: amount done, rate, time left."""

import logging
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

log = logging.getLogger("pipeline")

T = TypeVar("T")


class Progress:
    """Log the progress of some work, at most once every `every` seconds, and once at its end.

    Args:
        what: what is counted, as it should read in the log ("images").
        total: how many there are in all.
        done: how many were done by an earlier run; they do not count in the rate.
    """

    def __init__(self, what: str, total: int, done: int = 0, every: float = 10.0):
        self.what, self.total, self.done, self.every = what, total, done, every
        self.initial = done
        self.started = self.logged_at = time.monotonic()

    def advance(self, count: int = 1, note: str = "") -> None:
        """Count `count` more as done; `note` is appended if a line is logged now."""
        self.done += count
        now = time.monotonic()
        if now - self.logged_at >= self.every or self.done >= self.total:
            self.logged_at = now
            log.info("%s%s", self._line(now), f", {note}" if note else "")

    def _line(self, now: float) -> str:
        rate = (self.done - self.initial) / max(now - self.started, 1e-9)
        to_do = self.total - self.done
        left = duration(to_do / rate if rate else float("inf") if to_do else 0.0)
        share = 100 * self.done / max(self.total, 1)
        return f"{self.what} {self.done:,}/{self.total:,} ({share:.0f}%), {rate:,.1f}/s, {left} left"


def with_progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield the items and log the progress."""
    progress = Progress(what, total)
    for item in items:
        yield item
        progress.advance()


def duration(seconds: float) -> str:
    """A duration in readable form: `48 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds == float("inf"):
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
