import dataclasses
import errno
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import timm
import torch
from PIL import Image
from timm.data.config import resolve_model_data_config
from torchvision import transforms

from pipeline.common.errors import InputError
from pipeline.images import extract as extraction_module
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.cache import FeatureCache
from pipeline.images.extract import attributes_of, extract_features, fill, write_store
from pipeline.images.lists import photographs_digest, read_photographs, write_image_list
from pipeline.images.settings import ExtractionSettings, expected_attributes
from pipeline.images.store import failed_images, read_features

IMAGES = [f"photo{i}" for i in range(7)]


class Extraction:
    """Photographs in a folder, a backbone, and where its extraction writes."""

    def __init__(self, root: Path):
        self.root, self.photographs = root, root / "photographs"
        self.photographs.mkdir()
        draw = np.random.default_rng(0)
        for name in IMAGES:
            pixels = draw.integers(0, 256, (40, 50, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(self.photographs / f"{name}.png")
        torch.manual_seed(0)
        torch.save(timm.create_model("resnet10t").state_dict(), root / "w.pth")
        self.expected: dict[str, Any] = {"backbone": "resnet10t", "weights": str(root / "w.pth")}
        self.expected |= {"resize": 36, "crop": 32, "crops": 1}
        self.settings = ExtractionSettings(**self.expected)
        self.backbone = self.load(batch=2)
        self.cache = root / "cache"

    def load(self, batch: int, device: str = "cpu") -> Backbone:
        return load_backbone(self.settings, torch.device(device), batch)

    def paths(self, images: Sequence[str] = IMAGES) -> dict[str, Path]:
        return {image: self.photographs / f"{image}.png" for image in images}

    def run(self, name: str = "out.h5", images: Sequence[str] = IMAGES, **more: Any) -> Path:
        """Extract the features of some images into a file."""
        output = self.root / name
        backbone, cache = more.pop("backbone", self.backbone), more.pop("cache", self.cache)
        write_image_list(self.root / "images.csv", self.paths(images))
        photographs = read_photographs(self.root / "images.csv")
        attributes = attributes_of(backbone)
        known = FeatureCache(cache, attributes)
        reasons = fill(known, photographs, backbone, workers=4)
        write_store(output, photographs, known, reasons, attributes)
        return output

    def job(self, name: str, **more: Any) -> Path:
        """Extract all images as the stage does, two at a time."""
        if not (self.root / "images.csv").exists():
            write_image_list(self.root / "images.csv", self.paths())
        output, failed = self.root / name, self.root / "failed.csv"
        given: dict[str, Any] = {"failed": failed, "batch_size": 2, **more}
        extract_features(self.root / "images.csv", self.settings, output, self.cache, **given)
        return output

    def counting(self, seen: list[int], batch: int = 2) -> Backbone:
        """A backbone that notes each pass of its network."""
        backbone = self.load(batch)

        def network(pixels: torch.Tensor) -> torch.Tensor:
            seen.append(len(pixels))
            return backbone.network(pixels)

        return dataclasses.replace(backbone, network=network)


@pytest.fixture
def extraction(tmp_path: Path) -> Extraction:
    return Extraction(tmp_path)


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def centres(extraction: Extraction, interpolation: str | None = None) -> np.ndarray:
    """Features of all images by torchvision's and timm's own functions."""
    model: Any = timm.create_model("resnet10t").eval()
    model.load_state_dict(torch.load(extraction.settings.weights, weights_only=True))
    config = resolve_model_data_config(model)
    chain = transforms.Compose(
        [
            transforms.Resize(36, transforms.InterpolationMode(interpolation or config["interpolation"])),
            transforms.CenterCrop(32),
            transforms.ToTensor(),
            transforms.Normalize(config["mean"], config["std"]),
        ]
    )
    with torch.no_grad():
        pixels = torch.stack([chain(Image.open(path)) for path in extraction.paths().values()])
        found: np.ndarray = model.forward_features(pixels).mean((2, 3)).numpy()
    return found


def test_the_store_has_each_image_and_records_how_features_were_made(extraction: Extraction) -> None:
    output, expected = extraction.run(), expected_attributes(extraction.settings)
    assert_close(read_features(output, IMAGES, expected), centres(extraction))
    with h5py.File(output) as file:
        assert file.attrs["weights_sha256"] == extraction.backbone.weights_sha256
        assert torch.__version__.startswith(file.attrs["torch_version"])
    with pytest.raises(InputError, match="crops: found 1, expected 10"):
        read_features(output, IMAGES, {**expected, "crops": 10})


def test_images_are_resized_by_the_backbones_interpolation(extraction: Extraction) -> None:
    assert extraction.backbone.interpolation == "bicubic"
    output = extraction.run(backbone=dataclasses.replace(extraction.backbone, interpolation="bilinear"))
    found = read_features(output, IMAGES, {"interpolation": "bilinear"})
    assert_close(found, centres(extraction, "bilinear"))


def test_attributes_name_what_is_used_not_what_was_asked_for(extraction: Extraction) -> None:
    """Cached features are reused if all of it is the same."""
    changes: dict[str, Any] = {"mean": [0.1, 0.2, 0.3], "std": [0.4, 0.5, 0.6], "interpolation": "bilinear"}
    settings = extraction.backbone.settings.model_copy(update={"precision": "bfloat16"})
    used = dataclasses.replace(extraction.backbone, **changes, settings=settings, weights_sha256="a1")
    found = attributes_of(used)
    expected = {
        **extraction.expected,
        **changes,
        "weights": "w.pth",
        "precision": "bfloat16",
        "dimension": 512,
    }
    assert found == {**found, **expected, "weights_sha256": "a1"}
    assert {f"{name}_version" for name in ("torch", "torchvision", "timm", "pillow")} < found.keys()


def test_broken_images_are_all_named_and_the_others_kept(extraction: Extraction, tmp_path: Path) -> None:
    write_image_list(tmp_path / "images.csv", extraction.paths())
    broken = extraction.paths(["photo1", "photo5"])
    whole = broken["photo1"].read_bytes()
    broken["photo1"].write_bytes(whole[:200])
    broken["photo5"].unlink()
    with pytest.raises(InputError, match=r"(?s)2 of 7 images cannot.*photo1\.png: .*photo5\.png: "):
        extraction.job("out.h5", max_failed_fraction=0.2)
    assert not (tmp_path / "out.h5").exists()
    assert list(pd.read_csv(tmp_path / "failed.csv")["image"]) == ["photo1", "photo5"]

    output = extraction.job("out.h5", max_failed_fraction=0.3)
    assert failed_images(output) == {"photo1", "photo5"}
    sound = [image for image in IMAGES if image not in broken]
    assert len(read_features(output, sound, {})) == 5
    with pytest.raises(InputError, match="photo1"):
        read_features(output, ["photo1"], {})

    for path in broken.values():
        path.write_bytes(whole)
    found = read_features(extraction.job("out.h5"), IMAGES, {})
    assert_close(found[5], found[1])
    assert failed_images(output) == set()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_neither_the_batch_nor_the_device_changes_the_features(device: str, extraction: Extraction) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    expected = read_features(extraction.run(), IMAGES, {})
    for batch in (1, 3, 7):
        backbone, cache = extraction.load(batch, device), extraction.root / f"cache{batch}"
        output = extraction.run(f"{batch}.h5", backbone=backbone, cache=cache)
        assert_close(read_features(output, IMAGES, {}), expected)


def test_a_full_disk_ends_the_extraction_and_what_was_kept_stays(
    extraction: Extraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every batch is a block here; the third one does not find room."""
    monkeypatch.setattr(extraction_module, "SECONDS_OF_A_BLOCK", 0.0)
    write, blocks = np.savez, []

    def full(*arguments: Any, **arrays: Any) -> None:
        blocks.append(arrays)
        if len(blocks) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*arguments, **arrays)

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space left"):
            extraction.run()
    assert not (extraction.root / "out.h5").exists()
    seen: list[int] = []
    output = extraction.run(backbone=extraction.counting(seen))
    assert len(seen) == 2  # of four batches
    fresh = extraction.run("fresh.h5", cache=extraction.root / "fresh")
    assert output.read_bytes() == fresh.read_bytes()


def test_only_photographs_that_are_new_or_changed_are_extracted(extraction: Extraction) -> None:
    every = [*IMAGES, *(f"more{number}" for number in range(10))]
    paths = extraction.paths(every)
    for number in range(10):
        shutil.copyfile(paths[f"photo{number % 7}"], paths[f"more{number}"])
    seen: list[int] = []
    backbone = extraction.counting(seen, batch=1)

    def passes(images: Sequence[str]) -> int:
        seen.clear()
        extraction.run(images=images, backbone=backbone)
        return len(seen)

    assert passes(IMAGES) == 7
    assert passes(every) == 10
    assert passes(every[::-1]) == 0
    shutil.copyfile(paths["photo5"], paths["photo2"])
    assert passes(every) == 1
    found = read_features(extraction.root / "out.h5", ["photo2", "photo5"], {})
    assert_close(found[0], found[1])
    backbone = dataclasses.replace(backbone, weights_sha256="other")
    assert passes(every) == 17


def test_a_photograph_is_known_by_its_bytes_where_its_size_or_time_has_changed(tmp_path: Path) -> None:
    """`cp -r` gives every photograph another time, and none is read by the network again."""
    photographs, listed = {name: tmp_path / f"{name}.png" for name in "ab"}, tmp_path / "images.csv"
    assert photographs_digest(listed) == ""
    for path in photographs.values():
        path.write_bytes(b"one")
    write_image_list(listed, photographs)
    digest, keys = photographs_digest(listed), {each.key for each in read_photographs(listed).values()}
    assert len(keys) == 2  # equal photographs of two images
    os.utime(photographs["a"], (1, 1))
    assert photographs_digest(listed) == digest
    photographs["a"].write_bytes(b"two")
    assert photographs_digest(listed) != digest
    assert len(keys & {each.key for each in read_photographs(listed).values()}) == 1


def test_code_of_another_digest_extracts_again(
    extraction: Extraction, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for code, known in (("a", False), ("a", True), ("b", False)):
        caplog.clear()
        extraction.job("out.h5", code=code)
        assert ("7 of 7 images have been extracted before" in caplog.text) == known


def test_a_damaged_block_is_extracted_again(extraction: Extraction) -> None:
    whole = extraction.run().read_bytes()
    (block,) = extraction.cache.rglob("*.npz")
    block.write_bytes(block.read_bytes()[:100])
    assert extraction.run("again.h5").read_bytes() == whole


def test_the_first_features_of_a_photograph_stay(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, {})
    cache.add(["a", "b"], np.array([[1, 2], [3, 4]], np.float32))
    cache.add(["b", "c"], np.array([[0, 0], [5, 6]], np.float32))
    for known in (cache, FeatureCache(tmp_path, {})):
        assert [known.rows[key].tolist() for key in "ac"] == [[1, 2], [5, 6]]
    assert cache.rows["b"].tolist() == [3, 4]


def test_shards_fill_the_cache_from_which_all_is_written(
    extraction: Extraction, caplog: pytest.LogCaptureFixture
) -> None:
    expected = np.delete(centres(extraction), 2, axis=0)
    extraction.paths()["photo2"].write_text("no image")
    for number in (1, 2, 3):
        extraction.job(f"{number}.csv", shard=f"{number}-of-3")
    failed = pd.concat(pd.read_csv(extraction.root / f"{number}.csv") for number in (1, 2, 3))
    assert list(failed["image"]) == ["photo2"]
    caplog.set_level(logging.INFO)
    sound = [image for image in IMAGES if image != "photo2"]
    found = read_features(extraction.job("out.h5", max_failed_fraction=0.2), sound, {})
    assert "have been extracted before" in caplog.text
    assert_close(found, expected)
