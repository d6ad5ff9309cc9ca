"""A real browser without a window, which opens pages as files, measures them and takes screenshots."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# The page lies in a frame, because a window cannot be narrower than 500 pixels.
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe src="{page}" style="border:0;display:block;width:{width}px;height:{height}px"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = async () => {{
  const page = frame.contentDocument;
  await page.fonts.ready;
  const across = page.documentElement.clientWidth;
  for (const part of page.querySelectorAll("details")) part.open = true;
  const boxed = element => element.closest(".box");
  const cut = [...page.querySelectorAll(".box")].filter(box => box.scrollWidth > box.clientWidth + 1);
  const outside = [...page.querySelectorAll("body *")].filter(
    element => !boxed(element) && element.getBoundingClientRect().right > across + 1);
  const pictures = [...page.images];
  document.title = JSON.stringify({{
    width: frame.contentWindow.innerWidth,
    page_width: page.documentElement.scrollWidth,
    page_height: page.documentElement.scrollHeight,
    outside: outside.slice(0, 5).map(element => element.outerHTML.slice(0, 120)),
    cut: cut.map(box => `${{box.scrollWidth}} of ${{box.clientWidth}}: ${{box.innerText.slice(0, 60)}}`),
    pictures: pictures.length,
    broken: pictures.filter(image => !(image.complete && image.naturalWidth)).length,
    fonts: page.fonts.status,
    elsewhere: frame.contentWindow.performance.getEntriesByType("resource")
      .map(entry => entry.name).filter(name => !name.startsWith("data:")),
  }});
}};
</script>
"""


def measure(page: Path, width: int, folder: Path) -> dict[str, Any]:
    """Measurements of a page in a browser: widths, elements outside or cut off, pictures, fonts, fetches."""
    frame = _framed(page, width, 900, folder)
    done = _chromium(frame, f"--window-size={max(width, 500)},900", "--dump-dom")
    found = re.search(r"<title>(.*?)</title>", done, re.DOTALL)
    assert found, f"{page}: not loaded: {done[:500]}"
    values: dict[str, Any] = json.loads(unescape(found[1]))
    return values


def photograph(page: Path, width: int, height: int, output: Path) -> Path:
    """A screenshot of the top of a page, as PNG."""
    frame = _framed(page, width, height, output.parent)
    _chromium(frame, f"--window-size={max(width, 500)},{height}", f"--screenshot={output}")
    return output


def _framed(page: Path, width: int, height: int, folder: Path) -> Path:
    path = folder / f"frame-{page.stem}-{width}.html"
    path.write_text(FRAME.format(page=page.resolve().as_uri(), width=width, height=height))
    return path


def _chromium(page: Path, *options: str) -> str:
    assert CHROMIUM
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--hide-scrollbars", "--allow-file-access-from-files", "--virtual-time-budget=20000",
        *options, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
