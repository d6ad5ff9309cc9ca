import dataclasses
import logging
import os
import re
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import timm
import torch
from PIL import Image, ImageOps
from torchvision import transforms

from pipeline.common.errors import InputError
from pipeline.common.files import write_digest
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.extract import attributes_of, extract
from pipeline.images.lists import Shard, identity
from pipeline.images.merge import merge
from pipeline.images.settings import ExtractionSettings, expected_attributes
from pipeline.images.store import failed_images, read_features

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
    return {"backbone": "resnet10t", "weights": weights, "resize": 36, "crop": 32, "crops": 2}


@pytest.fixture
def chosen(settings: dict[str, object]) -> ExtractionSettings:
    return ExtractionSettings(**settings)  # type: ignore[arg-type]


@pytest.fixture
def backbone(chosen: ExtractionSettings) -> Backbone:
    return load_backbone(chosen, torch.device("cpu"), batch=2)


def paths(folder: Path) -> dict[str, Path]:
    return {image: folder / f"{image}.png" for image in IMAGES}


def centre_and_mirror(
    path: Path, settings: dict[str, object], interpolation: str | None = None
) -> np.ndarray:
    """Features of one image in torchvision's and timm's own words: two crops, pooled, averaged."""
    model: Any = timm.create_model("resnet10t").eval()
    model.load_state_dict(torch.load(str(settings["weights"]), weights_only=True))
    config = timm.data.resolve_model_data_config(model)
    shape = [
        transforms.Resize(36, transforms.InterpolationMode(interpolation or config["interpolation"])),
        transforms.CenterCrop(32),
    ]
    chain = transforms.Compose(
        [*shape, transforms.ToTensor(), transforms.Normalize(config["mean"], config["std"])]
    )
    image = Image.open(path)
    pixels = torch.stack([chain(image), chain(ImageOps.mirror(image))])
    with torch.no_grad():
        pooled: np.ndarray = model.forward_features(pixels).mean((2, 3)).mean(0).numpy()
    return pooled


def test_the_store_holds_each_image_and_says_how(
    folder: Path, settings: dict[str, object], chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    partial, output = tmp_path / "partial", tmp_path / "out.h5"
    extract(paths(folder), backbone, chosen, partial, output, tmp_path / "failed.csv")
    found = read_features(output, IMAGES, expected_attributes(settings))
    expected = [centre_and_mirror(folder / f"{image}.png", settings) for image in IMAGES]
    assert np.allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert not partial.exists()
    with h5py.File(output) as file:
        assert file.attrs["weights_sha256"] == backbone.weights_sha256
        assert torch.__version__.startswith(file.attrs["torch_version"])
        assert file.attrs["interpolation"] == backbone.interpolation
    with pytest.raises(InputError, match="crops: found 2, expected 10"):
        read_features(output, IMAGES, {**expected_attributes(settings), "crops": 10})


def test_images_are_resized_by_the_backbones_interpolation(
    folder: Path, settings: dict[str, object], chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    other = dataclasses.replace(backbone, interpolation="bilinear")
    assert backbone.interpolation == "bicubic"
    output = tmp_path / "out.h5"
    extract(paths(folder), other, chosen, tmp_path / "partial", output, tmp_path / "failed.csv")
    found = read_features(output, IMAGES, {"interpolation": "bilinear"})
    every = [folder / f"{image}.png" for image in IMAGES]
    expected = [centre_and_mirror(path, settings, "bilinear") for path in every]
    assert np.allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_store_names_all_that_its_features_depend_on(
    chosen: ExtractionSettings, backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As used, not as asked for: rows of an earlier store are reused where all this is the same."""
    monkeypatch.setattr("pipeline.images.extract.version", lambda library: f"the {library} at hand")
    mean, std = [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]
    used = dataclasses.replace(
        backbone, mean=mean, std=std, interpolation="bilinear", precision="bfloat16", weights_sha256="a1"
    )
    asked = dataclasses.replace(chosen, precision="auto", crop_evaluation="dense")
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


def test_a_photograph_of_another_size_is_another_though_its_time_is_the_same(tmp_path: Path) -> None:
    photograph = tmp_path / "photo.png"
    found = []
    for content in (b"four", b"fives"):
        photograph.write_bytes(content)
        os.utime(photograph, ns=(7, 7))
        found.append(identity(photograph))
    assert found == [(4, 7), (5, 7)]


def test_broken_images_are_all_named_and_the_others_kept(
    folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    whole = (folder / "photo1.png").read_bytes()
    (folder / "photo1.png").write_bytes(whole[:200])
    (folder / "photo5.png").write_text("no image")
    partial, output = tmp_path / "partial", tmp_path / "out.h5"
    with pytest.raises(InputError) as caught:
        extract(paths(folder), backbone, chosen, partial, output, tmp_path / "failed.csv")
    assert "2 of 7 images cannot be decoded" in str(caught.value)
    assert "photo1.png: " in str(caught.value) and "photo5.png: " in str(caught.value)
    assert partial.exists() and not output.exists()
    listed = pd.read_csv(tmp_path / "partial.failed.csv")
    assert list(listed["image"]) == ["photo1", "photo5"]
    assert listed["reason"].str.contains("not an image of a supported kind|truncated|broken|Truncated").all()

    (folder / "photo1.png").write_bytes(whole)
    (folder / "photo5.png").write_bytes(whole)
    extract(paths(folder), backbone, chosen, partial, output, tmp_path / "failed.csv")
    found = read_features(output, IMAGES, {})
    assert np.allclose(found[5], found[1], rtol=1e-4, atol=1e-6)
    assert len(np.unique(found.round(3), axis=0)) == 6


def test_a_replaced_image_is_extracted_again(
    folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    partial, output = tmp_path / "partial", tmp_path / "out.h5"
    (folder / "photo6.png").write_text("no image")
    with pytest.raises(InputError):
        extract(paths(folder), backbone, chosen, partial, output, tmp_path / "failed.csv")
    for name in ("photo0", "photo6"):  # photo0 is in the store by now
        (folder / f"{name}.png").write_bytes((folder / "photo2.png").read_bytes())
    os.utime(folder / "photo0.png", (1, 1))
    extract(paths(folder), backbone, chosen, partial, output, tmp_path / "failed.csv")
    found = read_features(output, IMAGES, {})
    assert np.allclose(found[0], found[2], rtol=1e-4, atol=1e-6)


def test_failures_within_the_allowed_share_are_recorded_and_the_rest_is_there(
    folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    (folder / "photo1.png").write_text("no image")
    (folder / "photo4.png").unlink()
    output, failed = tmp_path / "out.h5", tmp_path / "failed.csv"
    extract(paths(folder), backbone, chosen, tmp_path / "partial", output, failed, failures_allowed=2)
    assert list(pd.read_csv(failed)["image"]) == ["photo1", "photo4"]
    assert pd.read_csv(failed)["reason"][1].startswith("FileNotFoundError")
    assert failed_images(output) == {"photo1", "photo4"}
    assert (
        len(read_features(output, [image for image in IMAGES if image not in ("photo1", "photo4")], {})) == 5
    )
    with pytest.raises(InputError, match="NaN or infinite features for 1 images"):
        read_features(output, ["photo1"], {})


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_neither_the_batch_nor_the_device_changes_the_features(
    device: str, folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    made = {0: backbone} | {batch: load_backbone(chosen, torch.device(device), batch) for batch in (1, 3, 7)}
    for batch, other in made.items():
        extract(
            paths(folder), other, chosen, tmp_path / "p", tmp_path / f"{batch}.h5", tmp_path / "failed.csv"
        )
    one, *others = (read_features(tmp_path / f"{batch}.h5", IMAGES, {}) for batch in made)
    for found in others:
        assert np.abs(found - one).max() < 1e-5 * np.abs(one).max()


def test_a_longer_list_of_images_keeps_what_is_done(
    folder: Path,
    chosen: ExtractionSettings,
    backbone: Backbone,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    (folder / "photo6.png").rename(tmp_path / "kept.png")
    with pytest.raises(InputError, match="1 of 7 images cannot be decoded"):
        extract(paths(folder), backbone, chosen, tmp_path / "p", tmp_path / "out.h5", tmp_path / "failed.csv")
    (tmp_path / "kept.png").rename(folder / "photo6.png")
    (folder / "new.png").write_bytes((folder / "photo2.png").read_bytes())
    longer = {"new": folder / "new.png", **paths(folder)}
    extract(longer, backbone, chosen, tmp_path / "p", tmp_path / "out.h5", tmp_path / "failed.csv")
    assert "resuming after 6 images" in caplog.text
    found = read_features(tmp_path / "out.h5", ["new", *IMAGES], {})
    assert np.allclose(found[0], found[3], rtol=1e-4, atol=1e-6)


def counting(backbone: Backbone, seen: list[int]) -> Backbone:
    """The same backbone, which notes every pass of its network."""

    def network(pixels: torch.Tensor) -> torch.Tensor:
        seen.append(len(pixels))
        return backbone.network(pixels)

    return dataclasses.replace(backbone, network=network)


def test_only_what_a_finished_store_lacks_is_extracted(
    folder: Path, chosen: ExtractionSettings, tmp_path: Path
) -> None:
    """Ten images more, some fewer, one replaced; other settings or code begin anew."""
    for number in range(10):
        (folder / f"more{number}.png").write_bytes((folder / f"photo{number % 7}.png").read_bytes())
    every = {path.stem: path for path in sorted(folder.iterdir())}
    backbone = load_backbone(chosen, torch.device("cpu"), batch=1)
    keep, failed = tmp_path / "partial" / "keep.h5", tmp_path / "failed.csv"

    def passes(images: list[str], name: str, code: str = "a") -> int:
        seen: list[int] = []
        shard, output, some = (
            tmp_path / "shard.h5",
            tmp_path / name,
            {image: every[image] for image in images},
        )
        extract(
            some, counting(backbone, seen), chosen, tmp_path / "p", shard, failed, earlier=keep, code=code
        )
        output.unlink(missing_ok=True)  # as Snakemake does before a job runs
        merge([shard], images, [failed], 0, output, tmp_path / "all.csv", keep)
        shard.unlink()
        return len(seen)

    assert passes(IMAGES, "out.h5") == 7
    assert os.path.samefile(keep, tmp_path / "out.h5")
    assert passes(list(every), "out.h5") == 10
    assert passes(IMAGES[:4], "out.h5") == 0
    assert passes(list(every), "out.h5") == 13
    shutil.copyfile(folder / "photo5.png", folder / "photo2.png")
    os.utime(folder / "photo2.png", (1, 1))
    assert passes(list(every), "out.h5") == 1
    keep.rename(tmp_path / "kept.h5")
    assert passes(list(every), "fresh.h5") == 17
    reused, fresh = (read_features(tmp_path / name, list(every), {}) for name in ("out.h5", "fresh.h5"))
    assert np.array_equal(reused, fresh)
    assert passes(list(every), "out.h5", code="b") == 17
    keep.write_text("no store")
    assert passes(list(every), "out.h5") == 17


def test_what_lacks_here_and_there_fills_batches_of_its_own(
    folder: Path, chosen: ExtractionSettings, tmp_path: Path
) -> None:
    backbone, failed = load_backbone(chosen, torch.device("cpu"), batch=3), tmp_path / "failed.csv"
    seen: list[int] = []
    some = {image: folder / f"{image}.png" for image in ("photo1", "photo3", "photo4", "photo6")}
    extract(some, backbone, chosen, tmp_path / "p", tmp_path / "some.h5", failed)
    every = paths(folder)
    whole = tmp_path / "every.h5"
    earlier = tmp_path / "some.h5"
    extract(every, counting(backbone, seen), chosen, tmp_path / "p", whole, failed, earlier=earlier)
    assert len(seen) == 1  # photo0, photo2 and photo5, of three batches of the list
    extract(every, backbone, chosen, tmp_path / "p", tmp_path / "fresh.h5", failed)
    found, fresh = (read_features(path, IMAGES, {}) for path in (whole, tmp_path / "fresh.h5"))
    assert np.abs(found - fresh).max() < 1e-5 * np.abs(fresh).max()


def test_shards_merge_into_the_undivided_store(
    folder: Path, chosen: ExtractionSettings, backbone: Backbone, tmp_path: Path
) -> None:
    (folder / "photo2.png").write_text("no image")
    every = paths(folder)

    def made(name: str, images: list[str]) -> Path:
        some = {image: every[image] for image in images}
        partial, failed = tmp_path / "partial", tmp_path / f"{name}.csv"
        extract(some, backbone, chosen, partial, tmp_path / f"{name}.h5", failed, failures_allowed=1)
        return tmp_path / f"{name}.h5"

    whole = made("whole", IMAGES)
    shards = [made(str(number), Shard(number, 3).of(IMAGES)) for number in (1, 2, 3)]
    failed = [path.with_suffix(".csv") for path in shards]
    output, listed = tmp_path / "merged.h5", tmp_path / "merged.csv"
    merge(shards, IMAGES, failed, 1, output, listed)
    assert failed_images(output) == {"photo2"}
    assert listed.read_text() == (tmp_path / "whole.csv").read_text()
    sound = [image for image in IMAGES if image != "photo2"]
    assert np.allclose(
        read_features(output, sound, {}), read_features(whole, sound, {}), rtol=1e-4, atol=1e-6
    )

    with pytest.raises(InputError, match="1 of 7 images cannot be decoded, 0 may"):
        merge(shards, IMAGES, failed, 0, output, listed)
    with pytest.raises(InputError, match="photo0: in no shard"):
        merge(shards[1:], IMAGES, failed, 1, output, listed)
    with pytest.raises(InputError, match="photo0: in 2 shards"):
        merge([*shards, shards[0]], IMAGES, failed, 1, output, listed)
    with pytest.raises(InputError, match="photo6: not in the list of images"):
        merge(shards, IMAGES[:-1], failed, 1, output, listed)
    with h5py.File(shards[1], "r+") as file:
        file.attrs["crops"] = 10
    write_digest(shards[1])
    with pytest.raises(InputError, match="crops: 10, now 2"):
        merge(shards, IMAGES, failed, 1, output, listed)
    merge([whole], IMAGES, [tmp_path / "whole.csv"], 1, output, listed)
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("count, shards", [(7, 3), (7, 7), (100, 8), (3, 1)])
def test_shards_share_the_images_evenly(count: int, shards: int) -> None:
    images = [str(number) for number in range(count)]
    parts = [Shard(number, shards).of(images) for number in range(1, shards + 1)]
    assert [image for part in parts for image in part] == images
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_time_is_told_by_what_it_was_spent_on(
    folder: Path,
    chosen: ExtractionSettings,
    backbone: Backbone,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    out = tmp_path / "out.h5"
    extract(paths(folder), backbone, chosen, tmp_path / "p", out, tmp_path / "failed.csv", gpu_missed=True)
    found = re.search(
        r"time: ([\d.]+)% waiting for images, ([\d.]+)% in the network, ([\d.]+)% wait", caplog.text
    )
    assert found and abs(sum(map(float, found.groups())) - 100) < 0.2
    (estimate,) = [record for record in caplog.records if record.message.startswith("about ")]
    assert estimate.levelno == logging.WARNING and "for 7 images" in estimate.message
