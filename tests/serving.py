"""A real HTTP server on 127.0.0.1 that serves a folder laid out as HOST/PATH, and fails on request.

`with serving(folder) as url:` serves `folder/host/file.txt` as `{url}/host/file.txt`.
"""

import email.utils
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote


class Request(NamedTuple):
    """A request that was received: HOST/PATH, the Range header (empty: none) and the answer's status."""

    path: str
    range: str
    status: int


@dataclass
class Troubles:
    """How the server fails.

    Attributes:
        statuses: the next answers' statuses, in place of files.
        cuts: after how many bytes of the body the connection ends, for each of the next answers.
        wait: seconds between two pieces of 64 KiB.
        asked: every request.
    """

    statuses: list[int] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    wait: float = 0.0
    asked: list[Request] = field(default_factory=list)


@contextmanager
def serving(folder: Path, troubles: Troubles | None = None) -> Iterator[str]:
    """Serve `folder` and give the server's URL."""
    handler = partial(_Handler, folder, troubles or Troubles())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, folder: Path, troubles: Troubles, *rest: object):
        self.folder, self.troubles = folder, troubles
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self.folder / unquote(self.path).lstrip("/")
        status = 200 if path.is_file() else 404
        content = path.read_bytes() if path.is_file() else b""
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").removesuffix("-") or 0)
        unless = email.utils.parsedate_to_datetime(self.headers["If-Unmodified-Since"]) if asked else None
        if self.troubles.statuses:
            status, content = self.troubles.statuses.pop(0), b""
        elif unless and path.stat().st_mtime >= unless.timestamp() + 1:
            status, content = 412, b""
        elif asked and status == 200:
            status, content = (206, content[start:]) if start < len(content) else (416, b"")
        self.troubles.asked.append(Request(path.relative_to(self.folder).as_posix(), asked, status))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        cut = self.troubles.cuts.pop(0) if self.troubles.cuts else len(content)
        try:
            for place in range(0, cut, 1 << 16):
                self.wfile.write(content[place : min(cut, place + (1 << 16))])
                threading.Event().wait(self.troubles.wait)
        except OSError:  # the other side has gone, as a killed process does
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        pass
