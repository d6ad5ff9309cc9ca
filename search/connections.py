"""Connections to the page: a client that keeps the server waiting does not keep others out.

uvicorn waits for the rest of a request for ever, and answers 503 to everyone while many clients make it wait.
"""

import asyncio
import errno
import socket
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.common.errors import InputError

PATIENCE = 15.0  # seconds that a client may take to send its next request, or to read an answer
SLOWEST = 20_000  # bytes per second at which a request must arrive after these seconds
MOST_WAITING = 200  # clients that the server waits for; one more closes the oldest of these connections

_REASONS = {
    errno.EADDRINUSE: "another program listens there. End it, or give another --port",
    errno.EACCES: "only root may listen there. Give a --port of 1024 or more",
    errno.EADDRNOTAVAIL: "not an address of this machine. Give one that it has, or 0.0.0.0 for all",
}


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address that no other program uses; it does not listen yet.

    Raises:
        InputError: the address is in use or cannot be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen()  # two programs may be bound to an address at which neither listens
    except (OSError, UnicodeError) as error:
        known = _REASONS.get(getattr(error, "errno", None) or 0)
        reason = known or f"cannot be used: {getattr(error, 'strerror', None) or error}"
        raise InputError(f"--host {host} --port {port}: {reason}.") from None
    return bound


class Connection(H11Protocol):
    """A connection that is closed when its client keeps the server waiting for too long."""

    _waiting: ClassVar[dict["Connection", None]] = {}  # all of the process, the longest waiting first

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._note_change()

    def data_received(self, data: bytes) -> None:
        if self.cycle and not self.cycle.response_complete:
            self._until += len(data) / SLOWEST
        super().data_received(data)
        self._note_change()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_change()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._note_change()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._note_change()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _client_is_awaited(self) -> bool:
        """Whether the server waits for the client to ask, to send more, or to read."""
        asking = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return not self.transport.is_closing() and (asking or self.flow.write_paused)

    def _note_change(self) -> None:
        if not self._client_is_awaited:
            self._stop_waiting()
        elif self not in self._waiting:
            self._waiting[self] = None
            self._until = self.loop.time() + PATIENCE
            self._timer = self.loop.call_at(self._until, self._close_if_late)
            if len(self._waiting) > MOST_WAITING:
                next(iter(self._waiting))._close()

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _close_if_late(self) -> None:
        if self.loop.time() < self._until:  # more has come in the meantime
            self._timer = self.loop.call_at(self._until, self._close_if_late)
        else:
            self._close()

    def _close(self) -> None:
        self._stop_waiting()
        self.transport.abort()
