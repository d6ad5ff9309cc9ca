"""Photographs of every kind that is read are indexed, and shown by the page."""

import io
import logging
import os
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from anyio import CapacityLimiter
from fastapi import FastAPI
from PIL import Image
from searched import listening

from pipeline.common.photographs import ENDINGS_OF
from search.contents import photographs_in
from search.serve import _add_api

KINDS = [(kind, ending) for kind, endings in ENDINGS_OF.items() for ending in endings]


def page_of(path: Path) -> FastAPI:
    """The interface over an index that has one photograph."""
    app = FastAPI()
    index = SimpleNamespace(file_of=lambda image: path)
    searches: Any = SimpleNamespace(model_and_index=lambda number: (None, index))
    _add_api(app, searches, CapacityLimiter(1))
    return app


@pytest.mark.parametrize("kind, ending", KINDS)
def test_a_browser_gets_a_photograph_that_it_can_show(kind: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    Image.new("RGB", (30, 20), "red").save(path, kind)
    with (
        listening(page_of(path)) as port,
        urllib.request.urlopen(f"http://127.0.0.1:{port}/photograph?image=a") as answer,
    ):
        content, sent = answer.read(), answer.headers["Content-Type"]
    shown = Image.open(io.BytesIO(content))
    assert shown.size == (30, 20)
    assert sent == f"image/{str(shown.format).lower()}"
    assert shown.format == ("JPEG" if kind in ("TIFF", "PPM") else kind)


def test_a_damaged_photograph_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(b"II*\0")
    with listening(page_of(tmp_path / "a.tif")) as port, pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/photograph?image=a")


def test_what_is_left_out_of_a_folder_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    unnamed = os.fsdecode(b"caf\xe9.jpg")
    for name in ("a.JFIF", "b.tif", "c.heic", "d.HEIC", "notes", unnamed):
        (tmp_path / name).touch()
    (tmp_path / "gone.png").symlink_to(tmp_path / "nothing.png")
    with caplog.at_level(logging.WARNING, "pipeline"):
        assert list(photographs_in(tmp_path).paths) == ["a.JFIF", "b.tif"]
    for part in ("2 .heic", "1 without an ending", "1 names that are not UTF-8", "1 broken links"):
        assert part in caplog.text
