"""SIGTERM, SIGINT (Ctrl-C) and SIGHUP: a stage ends cleanly, and long work saves its state first."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], None]


class Interrupted(BaseException):
    """A signal asks the stage to end. Not an `Exception`, so that nothing handles it as a failure.

    Attributes:
        number: the signal; the command line exits with 128 more, as shells have it (143, 130, 129).
    """

    def __init__(self, number: int, kept: str = "What was finished is kept."):
        super().__init__(
            f"ended by {signal.Signals(number).name}. {kept} Run the same command again to resume."
        )
        self.number = number


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Raise `Interrupted` at once when a signal arrives during the block."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    with _handled(end):
        yield


@contextmanager
def noted() -> Iterator[list[int]]:
    """Yield a list that collects signals, for a block that checks it where it can be interrupted."""
    came: list[int] = []
    with _handled(lambda number, frame: came.append(number)):
        yield came


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    # One that is ignored stays so: `nohup` and a shell's `&` ask for it.
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heeded = [number for number in SIGNALS if before[number] != signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])
