"""A proxy that serves a page below a path and strips that path, as JupyterHub and nginx do."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def stripping_proxy(port: int, path: str) -> Iterator[str]:
    """The address at which a proxy serves the page of a port, such as http://127.0.0.1:40000/user/me."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not self.path.startswith(f"{path}/"):
                self.send_error(404, "another page of this host")
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name != "Connection"}
            upstream.request(self.command, self.path.removeprefix(path), body, headers)
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_address[1]}{path}"
        proxy.shutdown()
