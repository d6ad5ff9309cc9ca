import dataclasses
import errno
import logging
import os
import re
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
from PIL import Image, ImageOps
from timm.data.config import resolve_model_data_config
from torchvision import transforms

from pipeline.common.errors import InputError
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.extract import attributes_of, extract, extract_features
from pipeline.images.lists import COLUMNS, Shard, identity, write_table
from pipeline.images.merge import merge
from pipeline.images.partial import PartialStore
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
        self.expected = {"backbone": "resnet10t", "weights": str(root / "w.pth")}
        self.expected |= {"resize": 36, "crop": 32, "crops": 2}  # type: ignore[dict-item]
        self.settings = ExtractionSettings(**self.expected)  # type: ignore[arg-type]
        self.backbone = self.load(batch=2)
        self.partial, self.failed = root / "partial", root / "failed.csv"

    def load(self, batch: int, device: str = "cpu") -> Backbone:
        return load_backbone(self.settings, torch.device(device), batch)

    def paths(self, images: Sequence[str] = IMAGES) -> dict[str, Path]:
        return {image: self.photographs / f"{image}.png" for image in images}

    def run(self, name: str = "out.h5", images: Sequence[str] = IMAGES, **more: Any) -> Path:
        """Extract the features of some images into a file."""
        output, backbone = self.root / name, more.pop("backbone", self.backbone)
        failed = more.pop("failed", self.failed)
        extract(self.paths(images), backbone, self.settings, self.partial, output, failed, **more)
        return output

    def count_images(self, seen: list[int], batch: int = 2) -> Backbone:
        """A backbone that notes the number of images of every pass of its network."""
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


def assert_alike(found: np.ndarray, expected: np.ndarray) -> None:
    """Check that features of the same images from batches of other sizes are close."""
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-6)


def centre_and_mirror(extraction: Extraction, interpolation: str | None = None) -> np.ndarray:
    """Features of all images by torchvision's and timm's own functions: two crops, pooled, averaged."""
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
    features = []
    for path in extraction.paths().values():
        image = Image.open(path)
        pixels = torch.stack([chain(image), chain(ImageOps.mirror(image))])
        with torch.no_grad():
            features.append(model.forward_features(pixels).mean((2, 3)).mean(0).numpy())
    return np.stack(features)


def test_the_store_has_each_image_and_records_how_features_were_made(extraction: Extraction) -> None:
    output, expected = extraction.run(), expected_attributes(extraction.expected)
    assert_close(read_features(output, IMAGES, expected), centre_and_mirror(extraction))
    assert not extraction.partial.exists()
    with h5py.File(output) as file:
        assert file.attrs["weights_sha256"] == extraction.backbone.weights_sha256
        assert torch.__version__.startswith(file.attrs["torch_version"])
        assert file.attrs["interpolation"] == extraction.backbone.interpolation
    with pytest.raises(InputError, match="crops: found 2, expected 10"):
        read_features(output, IMAGES, {**expected, "crops": 10})


def test_images_are_resized_by_the_backbones_interpolation(extraction: Extraction) -> None:
    assert extraction.backbone.interpolation == "bicubic"
    output = extraction.run(backbone=dataclasses.replace(extraction.backbone, interpolation="bilinear"))
    found = read_features(output, IMAGES, {"interpolation": "bilinear"})
    assert_close(found, centre_and_mirror(extraction, "bilinear"))


def test_a_store_names_all_that_its_features_depend_on(
    extraction: Extraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As used, not as requested: rows of an earlier store are reused if all this is the same."""
    monkeypatch.setattr("pipeline.images.extract.version", lambda library: f"the {library} at hand")
    mean, std = [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]
    changes: dict[str, Any] = {"mean": mean, "std": std, "interpolation": "bilinear"}
    used = dataclasses.replace(extraction.backbone, **changes, precision="bfloat16", weights_sha256="a1")
    asked = extraction.settings.model_copy(update={"precision": "auto", "crop_evaluation": "dense"})
    assert attributes_of(used, asked) == {
        "backbone": "resnet10t",
        "weights": "w.pth",
        "weights_sha256": "a1",
        "resize": 36,
        "crop": 32,
        "crops": 2,
        "interpolation": "bilinear",
        "mean": mean,
        "std": std,
        "precision": "bfloat16",
        "crop_evaluation": "dense",
        "dimension": 512,
        "pooling": "mean over the crops of the backbone's feature map of the whole image, float32",
        "torch_version": "the torch at hand",
        "torchvision_version": "the torchvision at hand",
        "timm_version": "the timm at hand",
        "pillow_version": "the pillow at hand",
    }


def test_a_photograph_of_another_size_has_changed_even_if_its_time_is_the_same(tmp_path: Path) -> None:
    photograph = tmp_path / "photo.png"
    found = []
    for content in (b"four", b"fives"):
        photograph.write_bytes(content)
        os.utime(photograph, ns=(7, 7))
        found.append(identity(photograph))
    assert found == [(4, 7), (5, 7)]


def test_broken_images_are_all_named_and_the_others_kept(extraction: Extraction, tmp_path: Path) -> None:
    broken = extraction.paths(["photo1", "photo5"])
    whole = broken["photo1"].read_bytes()
    broken["photo1"].write_bytes(whole[:200])
    broken["photo5"].write_text("no image")
    with pytest.raises(InputError) as caught:
        extraction.run()
    assert "2 of 7 images cannot be decoded" in str(caught.value)
    assert "photo1.png: " in str(caught.value) and "photo5.png: " in str(caught.value)
    assert extraction.partial.exists() and not (tmp_path / "out.h5").exists()
    listed = pd.read_csv(tmp_path / "partial.failed.csv")
    assert list(listed["image"]) == ["photo1", "photo5"]
    assert listed["reason"].str.contains("not an image of a supported kind|truncated|broken|Truncated").all()

    for path in broken.values():
        path.write_bytes(whole)
    found = read_features(extraction.run(), IMAGES, {})
    assert_alike(found[5], found[1])
    assert len(np.unique(found.round(3), axis=0)) == 6


def test_a_replaced_image_is_extracted_again(extraction: Extraction) -> None:
    paths = extraction.paths()
    paths["photo6"].write_text("no image")
    with pytest.raises(InputError):
        extraction.run()
    for name in ("photo0", "photo6"):  # photo0 is in the store by now
        paths[name].write_bytes(paths["photo2"].read_bytes())
    os.utime(paths["photo0"], (1, 1))
    found = read_features(extraction.run(), IMAGES, {})
    assert_alike(found[0], found[2])


def test_failures_within_the_allowed_share_are_recorded_and_the_others_are_extracted(
    extraction: Extraction,
) -> None:
    extraction.paths()["photo1"].write_text("no image")
    extraction.paths()["photo4"].unlink()
    output = extraction.run(failures_allowed=2)
    failed = pd.read_csv(extraction.failed)
    assert list(failed["image"]) == ["photo1", "photo4"]
    assert failed["reason"][1].startswith("FileNotFoundError")
    assert failed_images(output) == {"photo1", "photo4"}
    sound = [image for image in IMAGES if image not in ("photo1", "photo4")]
    assert len(read_features(output, sound, {})) == 5
    with pytest.raises(InputError, match="NaN or infinite features for 1 images"):
        read_features(output, ["photo1"], {})


def test_a_job_extracts_with_its_own_code_earlier_store_and_allowed_failures(
    extraction: Extraction, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An estimate is logged after three batches of two images; the second run has only the broken image."""
    caplog.set_level(logging.INFO)
    write_table(tmp_path / "images.csv", COLUMNS, extraction.paths().items())
    extraction.paths()["photo1"].write_text("no image")
    files = tmp_path / "images.csv", extraction.settings
    more: dict[str, Any] = {"batch_size": 2, "code": "a", "max_failed_fraction": 0.2}
    extract_features(*files, tmp_path / "first.h5", extraction.failed, **more)
    with h5py.File(tmp_path / "first.h5") as file:
        assert file.attrs["code"] == "a"
    assert failed_images(tmp_path / "first.h5") == {"photo1"}
    (estimate,) = [record for record in caplog.records if record.message.startswith("about ")]
    assert estimate.levelno == logging.INFO  # no GPU was requested
    caplog.clear()
    extract_features(
        *files, tmp_path / "second.h5", extraction.failed, **more, reuse_from=tmp_path / "first.h5"
    )
    assert "time: " in caplog.text and "about " not in caplog.text


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_neither_the_batch_nor_the_device_changes_the_features(device: str, extraction: Extraction) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    expected = read_features(extraction.run(), IMAGES, {})
    for batch in (1, 3, 7):
        output = extraction.run(f"{batch}.h5", backbone=extraction.load(batch, device))
        assert_close(read_features(output, IMAGES, {}), expected)


@pytest.mark.parametrize("row", [0, 6])
def test_a_write_that_fails_ends_the_extraction(
    extraction: Extraction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: int
) -> None:
    """Also the last one: its images would otherwise be taken for images that do not decode."""
    write = PartialStore.write

    def failing(store: PartialStore, rows: Sequence[int], features: np.ndarray) -> None:
        if row in rows:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(store, rows, features)

    with monkeypatch.context() as patched:
        patched.setattr(PartialStore, "write", failing)
        with pytest.raises(OSError, match="No space left"):
            extraction.run()
    assert not (tmp_path / "out.h5").exists()
    assert failed_images(extraction.run()) == set()


def test_a_longer_list_of_images_keeps_what_is_done(
    extraction: Extraction, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    paths = extraction.paths([*IMAGES, "new"])
    paths["photo6"].rename(tmp_path / "kept.png")
    with pytest.raises(InputError, match="1 of 7 images cannot be decoded"):
        extraction.run()
    (tmp_path / "kept.png").rename(paths["photo6"])
    shutil.copyfile(paths["photo2"], paths["new"])
    output = extraction.run(images=["new", *IMAGES])
    assert "resuming after 6 images" in caplog.text
    found = read_features(output, ["new", *IMAGES], {})
    assert_alike(found[0], found[3])


def test_only_what_a_finished_store_lacks_is_extracted(extraction: Extraction, tmp_path: Path) -> None:
    """Ten more images, some fewer, one replaced; other settings or code start from nothing."""
    every = [*IMAGES, *(f"more{number}" for number in range(10))]
    paths = extraction.paths(every)
    for number in range(10):
        shutil.copyfile(paths[f"photo{number % 7}"], paths[f"more{number}"])
    keep = tmp_path / "partial" / "keep.h5"
    seen: list[int] = []
    backbone = extraction.count_images(seen, batch=1)

    def passes(images: list[str], name: str, code: str = "a") -> int:
        seen.clear()
        shard = extraction.run("shard.h5", images, backbone=backbone, earlier=keep, code=code)
        (tmp_path / name).unlink(missing_ok=True)  # as Snakemake does before a job runs
        merge([shard], images, [extraction.failed], 0, tmp_path / name, tmp_path / "all.csv", keep)
        shard.unlink()
        return len(seen)

    extraction.partial = tmp_path / "p"
    assert passes(IMAGES, "out.h5") == 7
    assert os.path.samefile(keep, tmp_path / "out.h5")
    assert passes(every, "out.h5") == 10
    assert passes(IMAGES[:4], "out.h5") == 0
    assert passes(every, "out.h5") == 13
    shutil.copyfile(paths["photo5"], paths["photo2"])
    os.utime(paths["photo2"], (1, 1))
    assert passes(every, "out.h5") == 1
    keep.rename(tmp_path / "kept.h5")
    assert passes(every, "fresh.h5") == 17
    reused, fresh = (read_features(tmp_path / name, every, {}) for name in ("out.h5", "fresh.h5"))
    assert np.array_equal(reused, fresh)
    assert passes(every, "out.h5", code="b") == 17
    keep.write_text("no store")
    assert passes(every, "out.h5") == 17


def test_single_missing_images_form_separate_batches(extraction: Extraction) -> None:
    seen: list[int] = []
    backbone = extraction.load(batch=3)
    some = extraction.run("some.h5", ["photo1", "photo3", "photo4", "photo6"], backbone=backbone)
    whole = extraction.run("every.h5", backbone=extraction.count_images(seen, batch=3), earlier=some)
    assert len(seen) == 1  # photo0, photo2 and photo5, of three batches of the list
    fresh = extraction.run("fresh.h5", backbone=backbone)
    assert_close(read_features(whole, IMAGES, {}), read_features(fresh, IMAGES, {}))


def test_shards_merge_into_the_undivided_store(extraction: Extraction, tmp_path: Path) -> None:
    extraction.paths()["photo2"].write_text("no image")

    def shard(name: str, images: list[str]) -> Path:
        return extraction.run(f"{name}.h5", images, failed=tmp_path / f"{name}.csv", failures_allowed=1)

    whole = shard("whole", IMAGES)
    shards = [shard(str(number), Shard(number, 3).of(IMAGES)) for number in (1, 2, 3)]
    failed = [path.with_suffix(".csv") for path in shards]
    output, listed = tmp_path / "merged.h5", tmp_path / "merged.csv"
    merge(shards, IMAGES, failed, 1, output, listed)
    assert failed_images(output) == {"photo2"}
    assert listed.read_text() == (tmp_path / "whole.csv").read_text()
    sound = [image for image in IMAGES if image != "photo2"]
    assert_alike(read_features(output, sound, {}), read_features(whole, sound, {}))

    def assert_refused(parts: list[Path], images: list[str], allowed: int, message: str) -> None:
        with pytest.raises(InputError, match=message):
            merge(parts, images, failed, allowed, output, listed)

    assert_refused(shards, IMAGES, 0, "1 of 7 images cannot be decoded, at most 0 may fail")
    assert_refused(shards[1:], IMAGES, 1, "photo0: in no shard")
    assert_refused([*shards, shards[0]], IMAGES, 1, "photo0: in 2 shards")
    assert_refused(shards, IMAGES[:-1], 1, "photo6: not in the list of images")
    with h5py.File(shards[1], "r+") as file:  # as if the row of photo3 had been lost
        kept = file["features"][1]
        file["features"][1] = np.nan
    assert_refused(shards, IMAGES, 1, "damaged rows. Extract the shards again")
    with h5py.File(shards[1], "r+") as file:
        file["features"][1] = kept
        file.attrs["crops"] = 10
    assert_refused(shards, IMAGES, 1, "crops: 10, now 2")
    merge([whole], IMAGES, [tmp_path / "whole.csv"], 1, output, listed)
    assert output.read_bytes() == whole.read_bytes()


def test_a_failed_photographs_name_need_not_be_utf8(
    extraction: Extraction, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "pipeline")  # pytest-xdist cannot pass on a log with such a name
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    broken, failed = folder / "1.jpg", tmp_path / "shard.csv"
    broken.write_text("no image")
    paths = {**extraction.paths(), "broken": broken}
    output = tmp_path / "shard.h5"
    extract(
        paths,
        extraction.backbone,
        extraction.settings,
        extraction.partial,
        output,
        failed,
        failures_allowed=1,
    )
    merge([output], list(paths), [failed], 1, tmp_path / "merged.h5", tmp_path / "merged.csv")
    assert failed.read_bytes() == (tmp_path / "merged.csv").read_bytes()
    assert os.fsencode(broken) in failed.read_bytes()


@pytest.mark.parametrize("count, shards", [(7, 3), (7, 7), (100, 8), (3, 1)])
def test_shards_share_the_images_evenly(count: int, shards: int) -> None:
    images = [str(number) for number in range(count)]
    parts = [Shard(number, shards).of(images) for number in range(1, shards + 1)]
    assert [image for part in parts for image in part] == images
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_log_shows_how_the_time_was_spent(
    extraction: Extraction, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    extraction.run(gpu_missed=True)
    found = re.search(
        r"time: ([\d.]+)% waiting for images, ([\d.]+)% in the network, ([\d.]+)% wait", caplog.text
    )
    assert found and abs(sum(map(float, found.groups())) - 100) < 0.2
    (estimate,) = [record for record in caplog.records if record.message.startswith("about ")]
    assert estimate.levelno == logging.WARNING and "for 7 images" in estimate.message
