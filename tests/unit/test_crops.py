from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms

from pipeline.images.crops import UnreadableImage, read_image, resize_image, views


def crops_of(image: Image.Image, resize: int, crop: int, crops: int, interpolation: str) -> torch.Tensor:
    return torch.stack(views(resize_image(image, resize, interpolation), crop, crops))


def noise(width: int, height: int) -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def ramp(mode: str = "RGB") -> Image.Image:
    return Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).convert(mode)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_ten_crops_equal_torchvisions(interpolation: str) -> None:
    image = noise(70, 50)
    chain = transforms.Compose(
        [transforms.Resize(40, transforms.InterpolationMode(interpolation)), transforms.TenCrop(32)]
    )
    wanted = torch.stack([transforms.functional.pil_to_tensor(view) for view in chain(image)])
    assert torch.equal(crops_of(image, 40, 32, 10, interpolation), wanted)


def test_one_crop_is_the_centre() -> None:
    image = noise(8, 6)  # the shorter side is 6 already, so nothing is resized
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    centre = pixels[:, 1:5, 2:6]
    assert torch.equal(crops_of(image, 6, 4, 1, "bilinear"), centre[None])


def test_exif_orientation_turns_the_image(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by 90 degrees clockwise
    stored = noise(6, 4)
    stored.save(tmp_path / "turned.png", exif=exif)
    shown = np.asarray(read_image(tmp_path / "turned.png"))
    assert np.array_equal(shown, np.rot90(np.asarray(stored), -1))


@pytest.mark.parametrize("mode, ending", [("L", "png"), ("RGBA", "png"), ("P", "png"), ("CMYK", "tif")])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str, ending: str) -> None:
    path = tmp_path / f"image.{ending}"
    ramp(mode).save(path)
    image = read_image(path)
    assert image.mode == "RGB"
    assert np.abs(np.asarray(image).astype(int) - np.asarray(ramp())).max() <= 1


@pytest.mark.parametrize("pixels", [np.array([[0, 65535]], "<u2"), np.array([[0.5, 300]], np.float32)])
def test_pixels_that_would_be_clipped_are_refused(tmp_path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(tmp_path / "deep.tif")
    with pytest.raises(UnreadableImage, match="8 bits per channel"):
        read_image(tmp_path / "deep.tif")


@pytest.mark.parametrize("size", [(51, 40), (40, 51), (43, 43), (40, 40)])
def test_crops_of_odd_sizes_equal_torchvisions(size: tuple[int, int]) -> None:
    image = noise(*size)
    for crop in (39, 40, 32, 31):
        wanted = [transforms.functional.pil_to_tensor(view) for view in transforms.TenCrop(crop)(image)]
        assert torch.equal(
            crops_of(image, 40 if min(size) == 40 else 43, crop, 10, "bilinear"), torch.stack(wanted)
        )


def test_a_cmyk_jpeg_is_read_as_its_colours(tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), (200, 30, 60)).convert("CMYK").save(tmp_path / "cmyk.jpg", quality=95)
    assert np.abs(np.asarray(read_image(tmp_path / "cmyk.jpg"))[8, 8].astype(int) - (200, 30, 60)).max() <= 3


def half_transparent(colour: tuple[int, int, int], mode: str) -> Image.Image:
    """A red picture whose left half is transparent and hides another colour."""
    image = Image.new("RGBA", (8, 8), (*colour, 0))
    image.paste((255, 0, 0, 255), (4, 0, 8, 8))
    return image.convert(mode) if mode != "P" else image.quantize(4)


@pytest.mark.parametrize("mode, kind", [("RGBA", "png"), ("RGBA", "webp"), ("P", "png"), ("RGBA", "gif")])
def test_transparent_parts_are_white_whatever_they_hide(tmp_path: Path, mode: str, kind: str) -> None:
    for colour in ((0, 0, 0), (255, 255, 255), (9, 200, 77)):
        half_transparent(colour, mode).save(tmp_path / f"a.{kind}", lossless=True)
        read = read_image(tmp_path / f"a.{kind}")
        shown = np.asarray(read)
        assert (shown[:, :4] == 255).all() and (shown[:, 4:] == (255, 0, 0)).all()
