"""The page's server: clients that send half a request, stay silent or leave keep nobody else waiting."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.request import urlopen

import pytest
from searched import listening

from pipeline.common.errors import InputError
from search import connections, serve, uploads
from search.connections import bound_socket
from search.serve import create_app

HEAD = b"GET /api/indexes HTTP/1.1\r\nHost: localhost\r\n"
UPLOAD = b"POST /api/picture HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\nhalf"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(create_app([])) as port:
        yield port


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.5)


def open_connection(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def answer_time(port: int) -> float:
    """Seconds until a whole request is answered with status 200."""
    begin = time.monotonic()
    with open_connection(port) as client:
        client.sendall(HEAD + b"\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
    return time.monotonic() - begin


def closed_after(begin: float, client: socket.socket, sending: Callable[[], object]) -> float:
    """Seconds from `begin` until the server closes a connection on which something is sent repeatedly."""
    client.setblocking(False)
    while time.monotonic() < begin + 60:
        try:
            sending()
            if client.recv(1 << 16) == b"":
                break
        except BlockingIOError:
            time.sleep(0.02)
        except ConnectionError:
            break
    return time.monotonic() - begin


@pytest.mark.parametrize("half", [b"", HEAD, UPLOAD, b"GET / HT"], ids=["nothing", "head", "upload", "line"])
def test_four_hundred_half_open_connections_keep_nobody_waiting(port: int, half: bytes) -> None:
    with ExitStack() as clients:
        for _ in range(400):
            client = clients.enter_context(open_connection(port))
            client.sendall(half)
        assert max(answer_time(port) for _ in range(5)) < 10


def test_only_so_many_requests_compute_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, together, running, counts = threading.Lock(), threading.Barrier(3), [0], []

    def slow_answer(searches: serve._Searches, number: int) -> dict[str, object]:
        with lock:
            running[0] += 1
            counts.append(running[0])
        together.wait(60)  # for the two others that may compute
        time.sleep(0.05)
        with lock:
            running[0] -= 1
        return {}

    monkeypatch.setattr(serve._Searches, "examples", slow_answer)
    with listening(create_app([], threads=3)) as port, ThreadPoolExecutor(9) as clients:
        addresses = [f"http://localhost:{port}/api/examples"] * 9
        assert [answer.status for answer in clients.map(urlopen, addresses)] == [200] * 9
    assert max(counts) == 3 and len(counts) == 9


@pytest.mark.parametrize("head", [HEAD, b"GET / HT", UPLOAD], ids=["head", "line", "upload"])
def test_a_connection_that_sends_too_slowly_is_closed(port: int, impatient: None, head: bytes) -> None:
    begin = time.monotonic()
    with open_connection(port) as client:
        client.sendall(head)
        assert 0.5 <= closed_after(begin, client, lambda: client.send(b"x")) < 10


def test_a_client_that_never_sends_anything_is_disconnected(port: int, impatient: None) -> None:
    begin = time.monotonic()
    with open_connection(port) as client:
        assert 0.5 <= closed_after(begin, client, lambda: None) < 10


def test_a_client_that_is_silent_after_an_answer_is_disconnected(port: int, impatient: None) -> None:
    begin = time.monotonic()
    with open_connection(port) as client:
        client.sendall(HEAD + b"\r\n")
        assert 0.5 <= closed_after(begin, client, lambda: None) < 10


def test_a_body_after_a_refusal_is_not_read_for_ever(port: int, impatient: None) -> None:
    head = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with open_connection(port) as client:
        client.sendall(head)
        assert closed_after(time.monotonic(), client, lambda: client.send(b"4\r\nhalf\r\n")) < 10


def test_a_slow_upload_gets_the_time_that_it_needs(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than a client may be silent, at more than the slowest rate."""
    monkeypatch.setattr(connections, "PATIENCE", 2.0)
    body = b"x" * 125_000
    head = f"POST /api/picture HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with open_connection(port) as client:
        client.sendall(head)
        for start in range(0, len(body), 5_000):
            client.sendall(body[start : start + 5_000])
            time.sleep(0.15)
        assert client.recv(12) == b"HTTP/1.1 422"  # 422: the page has no index


def test_pictures_take_bounded_memory_together(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_TOGETHER", 100_000)
    whole = UPLOAD.replace(b"9000000", b"20000")[:-4] + b"x" * 20_000
    for expected in (b"503", b"422"):  # 422: there is no index to search
        with open_connection(port) as first, open_connection(port) as second:
            if expected == b"503":
                first.sendall(UPLOAD + b"x" * 90_000)
            time.sleep(0.1)
            second.sendall(whole)
            assert second.recv(12) == b"HTTP/1.1 " + expected


def test_requests_on_one_connection_are_all_answered(port: int) -> None:
    with open_connection(port) as client:
        for _ in range(3):
            client.sendall(HEAD[:9])
            time.sleep(0.05)
            client.sendall(HEAD[9:] + b"\r\n")
            read_answers(client, 1)
        client.sendall((HEAD + b"\r\n") * 3)
        read_answers(client, 3)


def read_answers(client: socket.socket, count: int) -> None:
    received = b""
    while received.count(b"200 OK") < count or not received.endswith(b"[]"):
        part = client.recv(1 << 16)
        assert part, received
        received += part


def test_a_client_that_leaves_during_its_upload_is_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(create_app([])) as port:
        monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
        for leave in (lambda client: client.shutdown(socket.SHUT_WR), lambda client: None):
            with open_connection(port) as client:
                client.sendall(UPLOAD)
                leave(client)
        reset = open_connection(port)
        reset.sendall(UPLOAD)
        reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        reset.close()
        assert answer_time(port) < 10
        time.sleep(0.2)
    assert caplog.text == ""


def test_a_port_that_is_in_use_is_reported(port: int) -> None:
    with pytest.raises(InputError, match=f"--port {port}: another program listens there. End it, or give"):
        bound_socket("127.0.0.1", port)
    for host in ("192.0.2.1", "no-such-host.invalid", "a" * 300):
        with pytest.raises(InputError, match=f"--host {host} --port 0: "):
            bound_socket(host, 0)
