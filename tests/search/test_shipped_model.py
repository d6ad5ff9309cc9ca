"""The model that comes with the repository: its size, languages and page, and photographs that it finds."""

import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from fastapi.testclient import TestClient
from project import ROOT
from searched import draw_pictures

from search import load, open_index
from search.build_index import build_index
from search.model import SearchModel
from search.serve import create_app

MODEL = ROOT / "models/flickr8k/model.pt"
PHOTOGRAPHS = os.environ.get("MULTILINGUAL_FLICKR8K", "")
SENTENCES = {
    "en": ["a dog runs in the snow", "two men play football", "a woman on a bicycle"],
    "de": ["ein Hund rennt im Schnee", "zwei Männer spielen Fußball", "eine Frau auf einem Fahrrad"],
    "fr": ["un chien court dans la neige", "deux hommes jouent au football", "une femme sur un vélo"],
    "cs": ["pes běží ve sněhu", "dva muži hrají fotbal", "žena na kole"],
}
# Of the first sixty validation photographs, those with a dog in a caption.
DOGS = {
    "1032122270", "1130369873", "1131155939", "1164131282", "1178705300", "124972799", "1306145560",
    "1319634306", "1355935187", "1378557186", "1388970365", "1429546659", "1440024115", "1469000260",
    "1470536919",
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> SearchModel:
    return load(MODEL)


def test_it_is_small_and_reads_four_languages_and_photographs(model: SearchModel) -> None:
    assert MODEL.stat().st_size < 5 * 10**6
    assert model.languages == list(SENTENCES) and model.reads_photographs


def test_a_sentence_is_nearest_to_its_translations(model: SearchModel) -> None:
    english = model.embed_sentences(SENTENCES["en"], "en")
    for code, sentences in SENTENCES.items():
        assert [model.parse(sentence).language for sentence in sentences] == [code] * 3
        similarities = model.embed_sentences(sentences, code) @ english.T
        assert similarities.argmax(1).tolist() == [0, 1, 2]


def test_make_search_indexes_a_folder_and_serves_its_page(model: SearchModel, tmp_path: Path) -> None:
    folder = draw_pictures(tmp_path / "my pictures", ["one.jpg", "two.png"])
    asked = subprocess.run(
        ["make", "--dry-run", "--old-file", ".venv/.ready", "search", f"PHOTOS={folder}"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (indexed,) = re.findall(r'build-index --model (\S+) --photographs "(.*)" --output (\S+)', asked)
    assert indexed[:2] == (str(MODEL.relative_to(ROOT)), str(folder))
    assert f"serve {indexed[2]}" in asked
    build_index(MODEL, tmp_path / "index.h5", folder)
    page = TestClient(create_app(model, open_index(tmp_path / "index.h5")), "http://localhost")
    assert "other non-commercial use" in page.get("/").text
    assert len(page.get("/api/search?q=pes").json()["images"]) == 2


@pytest.mark.skipif(not PHOTOGRAPHS, reason="MULTILINGUAL_FLICKR8K is not set")
def test_it_finds_the_dogs_among_photographs_that_it_has_not_seen(model: SearchModel, tmp_path: Path) -> None:
    images = pd.read_csv(f"{PHOTOGRAPHS}/images.csv", dtype=str).query("split == 'val'")["flickr8k_file"][:60]
    (tmp_path / "photographs").mkdir()
    for name in images:
        (tmp_path / "photographs" / name).symlink_to(Path(PHOTOGRAPHS) / "photographs" / name)
    build_index(MODEL, tmp_path / "index.h5", tmp_path / "photographs")
    index = open_index(tmp_path / "index.h5")
    found = model.search(index, sentences=["a dog", "ein Hund", "un chien", "pes"], top_k=5)
    assert {index.images[row].split("_")[0] for row in found.rows.flat} <= DOGS
