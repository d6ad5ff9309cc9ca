"""HTTP requests with a limit on their total time.

The time limits of `requests` are for each byte: a server that sends one byte every half second, or `100
Continue` for ever, can hold a client for ever. Here a thread closes the connection when the time is up.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3

_current = threading.local()  # the limit on requests of this thread


class TooSlow(Exception):
    """A server took longer than a limit allows; the message says how long."""


class TimeLimit:
    """The time that an answer may take, from the first byte sent to the last byte read."""

    def __init__(self, seconds: float):
        self.timed_out = False
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._begin, self._seconds = time.monotonic(), seconds
        self._end = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def extend(self, seconds: float) -> None:
        """Allow more time, because data have arrived."""
        self._seconds += seconds

    def end(self) -> None:
        """Stop watching; the connections may be used again."""
        self._end.set()
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def add(self, connection: socket.socket) -> None:
        """Watch another connection."""
        with self._lock:
            # A duplicate, because TLS detaches the original socket.
            self._connections.append(connection.dup())
        if self.timed_out:
            self._cut()

    def _watch(self) -> None:
        while (remaining := self._begin + self._seconds - time.monotonic()) > 0:
            if self._end.wait(remaining):
                return
        self.timed_out = True
        self._cut()

    def _cut(self) -> None:
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def time_limit(seconds: float) -> Iterator[TimeLimit]:
    """Limit the total time of the requests that this thread makes in the block with a `LimitedSession`.

    Raises:
        TooSlow: the time was up, even if the block raised another error or none.
    """
    limit = TimeLimit(seconds)
    _current.limit = limit
    try:
        yield limit
    except Exception:
        if not limit.timed_out:
            raise
    finally:
        _current.limit = None
        limit.end()
    if limit.timed_out:
        raise TooSlow(f"no whole answer in {seconds:,.0f} s")


class _WithWatch:
    """A connection under the limit of the thread that uses it."""

    def _new_conn(self) -> socket.socket:
        connection: socket.socket = super()._new_conn()  # type: ignore[misc]
        _watch(connection)
        return connection

    def request(self, *arguments: Any, **options: Any) -> None:
        if connection := getattr(self, "sock", None):  # the connection was opened by an earlier request
            _watch(connection)
        super().request(*arguments, **options)  # type: ignore[misc]


def _watch(connection: socket.socket) -> None:
    if limit := getattr(_current, "limit", None):
        limit.add(connection)


class _Plain(_WithWatch, urllib3.connection.HTTPConnection):
    pass


class _Secure(_WithWatch, urllib3.connection.HTTPSConnection):
    pass


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Secure


class _Adapter(requests.adapters.HTTPAdapter):
    """Connections of the classes above, also to proxies."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        _use_watched(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        _use_watched(manager)
        return manager


def _use_watched(manager: Any) -> None:
    # A SOCKS proxy has its own pools, whose connections keep only the timeout between bytes.
    if manager.pool_classes_by_scheme["http"] is urllib3.HTTPConnectionPool:
        manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}


class LimitedSession(requests.Session):
    """A session whose requests keep to a `time_limit`. Redirects are left to the caller."""

    def __init__(self) -> None:
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())

    def resolve_redirects(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        """Follow no redirects: `requests` would read a redirect's body, however long it is."""
        return iter(())
