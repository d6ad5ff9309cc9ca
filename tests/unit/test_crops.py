import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms

from pipeline.images.crops import (
    ON_WHITE,
    UnreadableImage,
    read_image,
    resize_image,
    views,
    window_weights,
    windows,
)


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
    assert torch.equal(crops_of(image, 40, 32, 5, interpolation), wanted[:5])


def test_one_and_two_crops_are_the_centre_and_its_mirror() -> None:
    image = noise(8, 6)  # the shorter side is 6 already, so nothing is resized
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    centre = pixels[:, 1:5, 2:6]
    assert torch.equal(crops_of(image, 6, 4, 1, "bilinear"), centre[None])
    assert torch.equal(crops_of(image, 6, 4, 2, "bilinear"), torch.stack([centre, centre.flip(2)]))


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


@pytest.mark.parametrize("kind, ending", [("<u2", "png"), ("<u2", "tif"), (">u2", "tif")])
def test_sixteen_bit_grey_is_scaled_not_clipped(tmp_path: Path, kind: str, ending: str) -> None:
    """A 257th of each value, rounded: 128 is less than half of 257, and 129 more."""
    path = tmp_path / f"grey.{ending}"
    Image.fromarray(np.array([[0, 128, 129, 257, 25700, 65535]], dtype=kind)).save(path)
    assert np.asarray(read_image(path))[0, :, 0].tolist() == [0, 0, 1, 1, 100, 255]


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


def test_a_window_weighs_the_cells_that_it_covers() -> None:
    """Two of three cells of 10 pixels in a row, at the left, at the right and in the middle."""
    weights = window_weights((20, 30), (2, 3), 20, 5)
    assert windows(20, 30, 20, 5) == [(0, 0), (0, 10), (0, 0), (0, 10), (0, 5)]
    # Left windows (two) give cells 1/2 1/2 0, right ones 0 1/2 1/2, the centre 1/4 1/2 1/4; rows half each.
    wanted = (2 * np.array([0.5, 0.5, 0]) + 2 * np.array([0, 0.5, 0.5]) + [0.25, 0.5, 0.25]) / 5 / 2
    assert np.allclose(weights.numpy(), [wanted, wanted])


def test_windows_weigh_the_cells_of_a_map_in_both_directions() -> None:
    """Windows of 2 x 2 cells in 3 x 4: one at each corner, and the centre half a cell below the top."""
    weights = window_weights((30, 40), (3, 4), 20, 5)
    assert windows(30, 40, 20, 5) == [(0, 0), (0, 20), (10, 0), (10, 20), (5, 10)]
    # Rows of the corners: 1/2 1/2 0 or 0 1/2 1/2, together half of 1 2 1; of the centre: 1/4 1/2 1/4.
    border, middle = [0.05, 0.075, 0.075, 0.05], [0.1, 0.15, 0.15, 0.1]
    assert np.allclose(weights.numpy(), [border, middle, border])


def test_a_broken_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    noise(64, 64).save(tmp_path / "whole.jpg")
    content = (tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(content[: len(content) // 2])
    (tmp_path / "text.jpg").write_text("no image")
    with pytest.raises(UnreadableImage, match="truncated"):
        read_image(tmp_path / "cut.jpg")
    with pytest.raises(UnreadableImage, match="not an image of a supported kind"):
        read_image(tmp_path / "text.jpg")


def test_neither_side_nor_area_may_exceed_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.images.crops.LONGEST", 50)
    monkeypatch.setattr("pipeline.images.crops.MOST", 200)
    path = tmp_path / "image.png"
    for size in ((50, 4), (4, 50), (14, 14)):
        noise(*size).save(path)
        assert read_image(path).size == size
    for size in ((51, 1), (1, 51), (15, 14)):
        noise(*size).save(path)
        with pytest.raises(UnreadableImage, match=f"found {size[0]} x {size[1]} pixels"):
            read_image(path)


def test_the_longer_side_is_bounded_after_resizing_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A strip of one pixel would become as long as its length times the size of a crop."""
    monkeypatch.setattr("pipeline.images.crops.LONGEST", 50)
    assert resize_image(noise(25, 10), 20, "bilinear").shape == (3, 20, 50)
    with pytest.raises(UnreadableImage, match="found 26 x 10 pixels, too long for its width"):
        resize_image(noise(26, 10), 20, "bilinear")


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
        assert read.info[ON_WHITE]


def test_half_transparent_grey_and_a_transparent_colour(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.merge("LA", [Image.new("L", (2, 2), 100), Image.new("L", (2, 2), 51)]).save(path)
    assert np.asarray(read_image(path))[0, 0].tolist() == [224] * 3  # 255 - 0.2 * 155
    Image.new("RGB", (2, 2), (1, 2, 3)).save(path, transparency=(1, 2, 3))
    assert np.asarray(read_image(path))[0, 0].tolist() == [255] * 3
    Image.fromarray(np.array([[0, 25700]], "<u2")).save(path, transparency=0)
    assert np.asarray(read_image(path))[0, :, 0].tolist() == [255, 100]
    Image.new("RGBA", (2, 2), (1, 2, 3, 255)).save(path)
    opaque = read_image(path)
    assert ON_WHITE not in opaque.info and np.asarray(opaque)[0, 0].tolist() == [1, 2, 3]


def chunk(kind: bytes, content: bytes, crc: int | None = None) -> bytes:
    found = zlib.crc32(kind + content) if crc is None else crc
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", found)


METADATA = {
    "a colour profile of 2 MB": chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2 << 20))),
    "a compressed text of 2 MB": chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * (2 << 20))),
    "80 MB of texts": 80 * chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(b"x" * (1 << 20))),
    "a text with a wrong checksum": chunk(b"tEXt", b"Comment\0a", 1),
    "a time of two bytes": chunk(b"tIME", b"ab"),
    "orientation with a wrong checksum": chunk(b"eXIf", b"MM\0*", 7),
    "nonsense as orientation": chunk(b"eXIf", b"nonsense"),
    "a profile of nonsense": chunk(b"iCCP", b"a\0\0nonsense"),
}


@pytest.mark.parametrize("what", METADATA)
def test_a_sound_picture_is_read_whatever_its_metadata(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.png"
    noise(9, 5).save(path)
    content = path.read_bytes()
    path.write_bytes(content[:33] + METADATA[what] + content[33:])
    assert np.array_equal(np.asarray(read_image(path)), np.asarray(noise(9, 5)))
    with open(path, "rb") as file:
        assert np.array_equal(np.asarray(read_image(file)), np.asarray(noise(9, 5)))


def test_a_damaged_picture_with_sound_metadata_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    noise(90, 50).save(path)
    content = path.read_bytes()
    damaged = content[:33] + METADATA["a text with a wrong checksum"] + content[33:]
    for broken in (damaged[:-4000], damaged[:200] + bytes([damaged[200] ^ 1]) + damaged[201:], damaged[:40]):
        path.write_bytes(broken)
        with pytest.raises(UnreadableImage):
            read_image(path)


def test_a_jpeg_with_broken_metadata_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    noise(9, 5).save(path, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\xff\x01\x12\0\x09\xff\xff\xff\xffbroken")
    assert read_image(path).size == (9, 5)
