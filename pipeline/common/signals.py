"""SIGTERM, SIGINT (Ctrl-C) and SIGHUP: a stage ends at once, with a sentence."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asks the stage to end. Not an `Exception`, so that nothing handles it as a failure.

    Attributes:
        number: the signal; the command line exits with 128 more, as shells have it (143, 130, 129).
    """

    def __init__(self, number: int):
        name = signal.Signals(number).name
        super().__init__(f"ended by {name}. What was finished is kept. Run the same command again to resume.")
        self.number = number


@contextmanager
def raise_on_signal() -> Iterator[None]:
    """Raise `Interrupted` at once when a signal arrives during the block."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    # An ignored signal stays ignored: `nohup` and a shell's `&` rely on it.
    before = {number: signal.getsignal(number) for number in SIGNALS}
    numbers = [number for number in SIGNALS if before[number] != signal.SIG_IGN]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])
