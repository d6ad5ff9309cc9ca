"""A server that sends exactly the bytes that a test gives it: answers of any kind, also endless ones."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A request's path and query (empty for a request that is cut off), to the bytes of the whole response.
Respond = Callable[[str], Iterator[bytes]]


@contextmanager
def answering(respond: Respond) -> Iterator[str]:
    """The address of a server that sends exactly these bytes and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        def one(connection: socket.socket) -> None:
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (part := connection.recv(1 << 16)):
                    head += part
                path = head.split(b" ")[1].decode() if head else ""
                try:
                    for piece in respond(path):
                        connection.sendall(piece)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        listening.shutdown(socket.SHUT_RDWR)


def whole(body: bytes | str, kind: str = "application/json", status: str = "200 OK") -> bytes:
    content = body.encode() if isinstance(body, str) else body
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        + content
    )


def endless(head: bytes, piece: bytes, pause: float = 0.05) -> Respond:
    def respond(path: str) -> Iterator[bytes]:
        yield head
        while True:
            yield piece
            time.sleep(pause)

    return respond


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPPING = {
    "body": endless(OK + b"Content-Length: 1000000\r\n\r\n", b" "),
    "body without a length": endless(OK + b"\r\n", b" "),
    "chunks": endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a chunk's size": endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "head": endless(OK, b"X: y\r\n"),
    "a line of the head": endless(OK + b"X: ", b"y"),
    "100 Continue": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "nothing": lambda path: iter(lambda: time.sleep(0.1) or b"", None),  # type: ignore[func-returns-value]
}
