"""The page in a real Chromium: a query, a click, back and an upload, as wide as a desktop and a telephone."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from searched import NAMES, draw_pictures, make_model, write_captions

from search import open_index
from search.build_index import build_index
from search.serve import create_app

webdriver = pytest.importorskip("selenium.webdriver", reason="no Selenium here: pip install selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver"
    ),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A served page over six pictures."""
    folder = tmp_path_factory.mktemp("browser")
    model = make_model(folder / "model.pt")
    captions = [write_captions(folder / "captions.csv")]
    build_index(model.path, folder / "index.h5", draw_pictures(folder / "pictures", NAMES), captions=captions)
    app = create_app(model, open_index(folder / "index.h5"))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_visit(address: str, width: int, tmp_path: Path) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(option)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

        def check(heading: str) -> None:
            """Nothing is wider than the screen, every picture has loaded, and the text is there."""
            loaded = "return [...document.images].every(image => image.complete && image.naturalWidth > 0)"
            end = time.monotonic() + 30
            # The script reads the page that is there; an element could be of the page before it.
            while heading not in browser.execute_script("return document.body?.innerText ?? ''"):
                assert time.monotonic() < end, heading
            browser.execute_script("for (const image of document.images) image.loading = 'eager'")
            while not browser.execute_script(loaded):
                assert time.monotonic() < end, "pictures"
            assert browser.execute_script("return document.documentElement.scrollWidth") == width

        browser.get(address)
        check("Captions to search with")
        browser.find_element("name", "q").send_keys("ein Hund\n")
        check("Read as German")
        results = browser.current_url
        browser.find_element("css selector", ".grid a").click()
        check("Nearest captions")
        browser.back()
        assert browser.current_url == results
        check("Read as German")
        picture = draw_pictures(tmp_path, ["mine.png"]) / "mine.png"
        browser.find_element("name", "picture").send_keys(str(picture))
        browser.find_element("css selector", "form[method=post] button").click()
        check("Nearest pictures")
        assert [each["message"] for each in browser.get_log("browser")] == []
    finally:
        browser.quit()
