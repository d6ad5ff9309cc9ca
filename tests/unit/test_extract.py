import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import timm
import torch
from PIL import Image

from pipeline.errors import InputError
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.extract import extract, find_images
from pipeline.images.settings import ExtractionSettings, expected_attributes
from pipeline.images.store import read_features

IMAGES = [f"photo{i}" for i in range(7)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    (tmp_path / "photographs").mkdir()
    for name in IMAGES:
        pixels = draw.integers(0, 256, (40, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photographs" / f"{name}.png")
    return tmp_path / "photographs"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, object]:
    torch.manual_seed(0)
    torch.save(timm.create_model("resnet10t").state_dict(), tmp_path / "w.pth")
    weights = str(tmp_path / "w.pth")
    return {"backbone": "resnet10t", "weights": weights, "resize": 36, "crop": 32, "crops": 2, "batch": 2}


@pytest.fixture
def chosen(settings: dict[str, object]) -> ExtractionSettings:
    return ExtractionSettings(**settings)  # type: ignore[arg-type]


@pytest.fixture
def backbone(chosen: ExtractionSettings) -> Backbone:
    return load_backbone(chosen, torch.device("cpu"))


def test_the_store_holds_each_image_and_says_how(
    folder: Path, settings: dict[str, object], chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    partial, output = tmp_path / "partial", tmp_path / "out.h5"
    extract(find_images(folder, IMAGES), backbone, chosen, partial, output)
    found = read_features(output, IMAGES, expected_attributes(settings))
    assert found.shape == (7, 512)
    assert len(np.unique(found, axis=0)) == 7
    assert not partial.exists()
    with h5py.File(output) as file:
        assert file.attrs["weights_sha256"] == backbone.weights_sha256
        assert torch.__version__.startswith(file.attrs["torch_version"])
        assert file.attrs["interpolation"] == backbone.interpolation
    with pytest.raises(InputError, match="crops: found 2, expected 10"):
        read_features(output, IMAGES, {**expected_attributes(settings), "crops": 10})


def test_broken_images_are_all_named_and_the_others_kept(
    folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    whole = (folder / "photo1.png").read_bytes()
    (folder / "photo1.png").write_bytes(whole[:200])
    (folder / "photo5.png").write_text("no image")
    partial, output = tmp_path / "partial", tmp_path / "out.h5"
    with pytest.raises(InputError) as caught:
        extract(find_images(folder, IMAGES), backbone, chosen, partial, output)
    assert "2 of 7 images do not decode" in str(caught.value)
    assert "photo1.png: " in str(caught.value) and "photo5.png: " in str(caught.value)
    assert partial.exists() and not output.exists()

    (folder / "photo1.png").write_bytes(whole)
    (folder / "photo5.png").write_bytes(whole)
    extract(find_images(folder, IMAGES), backbone, chosen, partial, output)
    found = read_features(output, IMAGES, {})
    assert np.allclose(found[5], found[1], rtol=1e-4, atol=1e-6)
    assert len(np.unique(found.round(3), axis=0)) == 6


def test_a_replaced_image_is_extracted_again(
    folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    partial, output = tmp_path / "partial", tmp_path / "out.h5"
    (folder / "photo6.png").write_text("no image")
    with pytest.raises(InputError):
        extract(find_images(folder, IMAGES), backbone, chosen, partial, output)
    for name in ("photo0", "photo6"):  # photo0 is in the journal by now
        (folder / f"{name}.png").write_bytes((folder / "photo2.png").read_bytes())
    os.utime(folder / "photo0.png", (1, 1))
    extract(find_images(folder, IMAGES), backbone, chosen, partial, output)
    found = read_features(output, IMAGES, {})
    assert np.allclose(found[0], found[2], rtol=1e-4, atol=1e-6)


def test_files_are_found_by_id_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("1.jpg", "deep/2_693b08cb0e.JPG", "3.png", "3_other.jpg", "notes_4.txt"):
        (tmp_path / name).touch()
    found = find_images(tmp_path, ["3", "1", "2"])
    assert list(found) == ["3", "1", "2"]
    assert [path.name for path in found.values()] == ["3.png", "1.jpg", "2_693b08cb0e.JPG"]


def test_missing_and_ambiguous_files_are_listed_together(tmp_path: Path) -> None:
    for name in ("1_a.jpg", "1_b.jpg", "2.jpg"):
        (tmp_path / name).touch()
    with pytest.raises(InputError) as caught:
        find_images(tmp_path, ["1", "2", *(f"x{i}" for i in range(30))])
    message = str(caught.value)
    assert "31 of 32 images have not exactly one file, first 20" in message
    assert "1: 2 files" in message and "x18: no file" in message and "x19" not in message
    with pytest.raises(InputError, match="not a folder"):
        find_images(tmp_path / "none", ["1"])
