"""A page of `python -m search serve` in a separate process, as a user starts it."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any

from project import ROOT

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PATIENCE = 120.0  # seconds that a start may take on a busy machine


@dataclass
class Answer:
    """Status, headers by their names in lower case, and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A page that is served. log: the file of what the server logs."""

    address: str
    port: int
    log: Path
    pid: int

    def get(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        method: str | None = None,
    ) -> Answer:
        """Ask for a path; redirects are followed."""
        request = urllib.request.Request(self.address + path, body, dict(headers or {}), method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return Answer(answer.status, _headers(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, _headers(error.headers), error.read())

    def raw(self, request: bytes) -> bytes:
        """Send bytes unchanged, and read the answer to its declared length."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
                head, _, body = answer.partition(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                if length and len(body) >= int(length[1]):
                    break
            return answer


def _headers(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command of search to its end."""
    return subprocess.run(
        command(*arguments), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=600
    )


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "search", *map(str, arguments)]


def environment() -> dict[str, str]:
    """An environment with only the variables that `make coverage` passes on."""
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    own = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": "/nonexistent"}
    return {**own, **measured}


@contextmanager
def served(indexes: Sequence[Path], folder: Path, *options: str) -> Iterator[Served]:
    """Serve indexes on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log_file = folder / f"served-{port}.log"
    with open(log_file, "w") as log:
        running = subprocess.Popen(
            command("serve", *indexes, "--port", port, *options),
            cwd=folder, env=environment(), stdout=log, stderr=log,
        )  # fmt: skip
    page = Served(f"http://127.0.0.1:{port}", port, log_file, running.pid)
    try:
        _wait(page, running)
        yield page
    finally:
        running.terminate()
        try:
            running.wait(PATIENCE)
        finally:
            running.kill()  # does nothing if it has ended


@contextmanager
def listening(app: "ASGIApp") -> Iterator[int]:
    """The port of a page in a thread of this process."""
    from search.connections import bound_socket
    from search.serve import server

    bound = bound_socket("127.0.0.1", 0)
    page = server(app)
    thread = threading.Thread(target=page.run, args=([bound],))
    thread.start()
    try:
        yield bound.getsockname()[1]
    finally:
        page.should_exit = True
        thread.join()


def _wait(page: Served, running: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and running.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", page.port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(page.log.read_text())
