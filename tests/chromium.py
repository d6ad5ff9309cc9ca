"""A real Chromium under control: mouse, keyboard, files, width. Its log and its requests are recorded.

It is controlled by the DevTools protocol over two pipes, so nothing besides Chromium is needed.
"""

import base64
import json
import os
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import CHROMIUM

PATIENCE = 60.0  # seconds that the page may take for anything


class Tab:
    """A page in a separate browser.

    Attributes:
        asked: addresses that it has requested. messages: errors and warnings of its console, and exceptions.
    """

    def __init__(self, write: int, read: int):
        self.write, self.read = write, os.fdopen(read, "rb", 0)
        self.buffer = b""
        self.number = 0
        self.session = ""
        self.events: deque[dict[str, Any]] = deque()
        self.asked: list[str] = []
        self.messages: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the browser and wait for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, address: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """The value of a piece of JavaScript."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, f"{expression}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until a piece of JavaScript is true of the page."""
        end = time.monotonic() + PATIENCE
        while not self.value(f"!!({expression})"):
            shown = self.value("document.body.innerText") if time.monotonic() > end else ""
            assert time.monotonic() < end, f"not in {PATIENCE} s: {expression}\n{shown}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that a selector finds."""
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        x, y = self.value(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Put text where the cursor is."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        """Press a key."""
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        pressed = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **pressed, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def drop(self, path: Path) -> None:
        """Drop a file on the middle of the page."""
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=200, y=300, data=data)

    def wide(self, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the page, and its colour scheme, light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def photograph(self, output: Path) -> None:
        """A screenshot of the visible part, as PNG."""
        output.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            part = self.read.read(65536)
            assert part, "the browser has ended"
            self.buffer += part
        whole, _, self.buffer = self.buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(whole)
        self._keep(message.get("method", ""), message.get("params", {}))
        return message

    def _keep(self, method: str, of: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.asked.append(of["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.messages.append(str(of["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and of["type"] in ("error", "warning", "assert"):
            self.messages.append(str(of["args"]))
        elif method == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
            self.messages.append(str(of["entry"]))


@contextmanager
def tab(folder: Path, options: Sequence[str] = ()) -> Iterator[Tab]:
    """A page of a browser whose profile lies in `folder`."""
    assert CHROMIUM
    from_here, to_browser = os.pipe()
    from_browser, to_here = os.pipe()
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
        f"--user-data-dir={folder}", *options,
    ]  # fmt: skip

    def connect() -> None:  # the browser reads from 3 and writes to 4
        spare = [os.dup(end) for end in (from_here, to_here)]
        high = [os.dup2(end, 100 + number) for number, end in enumerate(spare)]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    running = subprocess.Popen(
        command, preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(from_here)
    os.close(to_here)
    try:
        yield Tab(to_browser, from_browser)
    finally:
        running.kill()
        running.wait()
        os.close(to_browser)
