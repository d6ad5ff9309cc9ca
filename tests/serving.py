"""A real HTTP server on 127.0.0.1 that serves a folder laid out as HOST/PATH, and misbehaves on request.

`with serving(folder) as url:` serves `folder/host/file.txt` as `{url}/host/file.txt`.
"""

import hashlib
import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
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
class Trouble:
    """How one path misbehaves; attributes with their defaults change nothing.

    Attributes:
        times: how many requests it troubles; None: all.
        status: answered instead of the file, with `headers`.
        drop_after: bytes of the body after which the connection ends.
        hold_after: bytes of the body after which the server waits until `go_on` is set.
        length: Content-Length; "" for none.
        content: sent in place of the file's.
        headers: sent with the answer; they replace those of the same name.
        ranges: whether Range is understood.
    """

    times: int | None = None
    status: int | None = None
    drop_after: int | None = None
    hold_after: int | None = None
    length: str | None = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    go_on: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(
    folder: Path, troubles: Mapping[str, Trouble] | None = None, asked: list[Request] | None = None
) -> Iterator[str]:
    """Serve `folder` and give the server's URL.

    Args:
        troubles: by HOST/PATH; may be changed meanwhile.
        asked: every request is appended to it.
    """
    handler = partial(_Handler, folder, {} if troubles is None else troubles, [] if asked is None else asked)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            for trouble in (troubles or {}).values():
                trouble.go_on.set()
            server.shutdown()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, folder: Path, troubles: Mapping[str, Trouble], asked: list[Request], *rest: object):
        self.folder, self.troubles, self.asked = folder, troubles, asked
        super().__init__(*rest)  # type: ignore[arg-type]

    def handle(self) -> None:
        with suppress(ConnectionError):  # the other side refused the answer and closed
            super().handle()

    def do_GET(self) -> None:
        self.file = unquote(self.path).lstrip("/")
        trouble = self._trouble()
        content = self._content(trouble)
        if trouble.status or content is None:
            self._answer(trouble.status or 404, b"", trouble, {})
            return
        tag = '"' + hashlib.sha256(content).hexdigest()[:16] + '"'
        headers = {"ETag": tag, "Content-Type": "application/octet-stream"}
        start = self._start(trouble, headers | trouble.headers)
        if start >= len(content) and start:
            headers["Content-Range"] = f"bytes */{len(content)}"
            self._answer(416, b"", trouble, headers)
        elif start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self._answer(206, content[start:], trouble, headers)
        else:
            self._answer(200, content, trouble, headers)

    def _trouble(self) -> Trouble:
        trouble = self.troubles.get(self.file, Trouble())
        if trouble.times is None:
            return trouble
        trouble.times -= 1
        return trouble if trouble.times >= 0 else Trouble()

    def _content(self, trouble: Trouble) -> bytes | None:
        if trouble.content is not None:
            return trouble.content
        path = self.folder / self.file
        return path.read_bytes() if path.is_file() and ".." not in path.parts else None

    def _start(self, trouble: Trouble, headers: dict[str, str]) -> int:
        asked = self.headers.get("Range", "")
        condition = self.headers.get("If-Range")
        met = condition is None or condition in (headers.get("ETag"), headers.get("Last-Modified"))
        if not (trouble.ranges and met and asked.startswith("bytes=") and asked.endswith("-")):
            return 0
        return int(asked.removeprefix("bytes=").removesuffix("-"))

    def _answer(self, status: int, body: bytes, trouble: Trouble, headers: dict[str, str]) -> None:
        self.asked.append(Request(self.file, self.headers.get("Range", ""), status))
        length = str(len(body)) if trouble.length is None else trouble.length
        self.send_response(status)
        for name, value in (headers | {"Content-Length": length} | trouble.headers).items():
            if value:
                self.send_header(name, value)
        if length != str(len(body)):
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        self._send(body, trouble)

    def _send(self, body: bytes, trouble: Trouble) -> None:
        sent = 0
        try:
            if trouble.hold_after is not None:
                sent = trouble.hold_after
                self.wfile.write(body[:sent])
                self.wfile.flush()
                trouble.go_on.wait()
            self.wfile.write(body[sent : trouble.drop_after])
        except OSError:  # the other side has gone, as a killed process does
            self.close_connection = True
        if trouble.drop_after is not None and trouble.drop_after < len(body):
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        pass
