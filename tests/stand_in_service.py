"""A stand-in for the web services: a real HTTP server on this machine that answers like Google's page.

Line by line it appends `en` to each word, and it can be told to misbehave.
"""

import html
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

LONGEST_URL = 16_384  # bytes; Google refuses longer ones

# The reaction to a request, from its number (0, 1, ...) and lines: "" an answer, a status, or a kind of
# fault.
Behaviour = Callable[[int, list[str]], str]

FAULTS: dict[str, Callable[[list[str]], list[str]]] = {
    "merged": lambda lines: [" ".join(lines[:2]), *lines[2:]],
    "dropped": lambda lines: lines[1:],
    "added": lambda lines: [*lines, "Meinten Sie etwas anderes?"],
    "blank": lambda lines: ["", *lines[1:]],
    "swapped": lambda lines: [*lines[1:], lines[0]],
    "echo": lambda lines: [line.removesuffix("en").replace("en ", " ") for line in lines],
    "foreign": lambda lines: ["человек" for _ in lines],
    "page": lambda lines: [],
    "notice": lambda lines: ["Die Kapazität dieses Dienstes ist heute erschöpft." for _ in lines],
}

PAGE = """<!DOCTYPE html><html lang="{target}"><head><title>Google Translate</title></head>
<body><div class="languages-container"><a href="./m?sl={source}">{source}</a></div>{result}</body></html>"""


def translation(line: str) -> str:
    """The stand-in's translation of a line."""
    return " ".join(f"{word}en" for word in line.split())


class Service:
    """What the server received, and how it behaves.

    `requests`: lines of each request, as they arrive. `queries`: parameters of its URL. `behaviour`: how
    it misbehaves, if set.
    """

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.queries: list[dict[str, str]] = []
        self.times: list[float] = []
        self.behaviour: Behaviour = lambda number, lines: ""
        self.retry_after = ""
        self.url = ""
        self.lock = threading.Lock()

    @property
    def lines(self) -> list[str]:
        """Every requested line, as often as it was requested."""
        return [line for lines in self.requests for line in lines]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer on a kept connection waits 40 ms
    service: Service

    def do_GET(self) -> None:
        """Google's page."""
        answers, query = self._answers()
        if answers is not None:
            text = html.escape("\n".join(answers))
            result = f'<div class="result-container">{text}</div>' if answers else ""
            page = PAGE.format(target=query["tl"], source=query["sl"], result=result)
            self._answer(200, page, "text/html; charset=UTF-8")

    def do_POST(self) -> None:
        """LibreTranslate's API."""
        answers, _ = self._answers()
        if answers is not None:
            self._answer(200, json.dumps({"translatedText": "\n".join(answers)}), "application/json")

    def _answers(self) -> tuple[list[str] | None, dict[str, str]]:
        """The answers ([]: a page without a translation) and the query; None if a status was the answer."""
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        lines = (query.get("q") or query.get("text", "")).split("\n")
        with self.service.lock:
            number = len(self.service.requests)
            self.service.requests.append(lines)
            self.service.queries.append(query)
            self.service.times.append(time.time())
        fault = "400" if len(self.path) > LONGEST_URL else self.service.behaviour(number, lines)
        if fault.isdecimal():
            self._answer(int(fault), f"<html><body>Sorry: {self.path}</body></html>", "text/html")
            return None, query
        return FAULTS.get(fault, list)([translation(line) for line in lines]), query

    def _answer(self, status: int, text: str, kind: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if status != 200 and self.service.retry_after:
            self.send_header("Retry-After", self.service.retry_after)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *arguments: object) -> None:
        pass  # a client that was killed


@contextmanager
def stand_in() -> Iterator[Service]:
    """A running stand-in; its address is `service.url`."""
    service = Service()
    handler = type("_Bound", (_Handler,), {"service": service})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        service.url = f"http://127.0.0.1:{server.server_port}/m"
        try:
            yield service
        finally:
            server.shutdown()
