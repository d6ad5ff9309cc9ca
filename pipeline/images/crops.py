"""From a photograph's file to its crops.

Workers read and resize; crops are cut, mirrored and normalised where the network is, see `backbone`.
"""

import io
import stat
import struct
import warnings
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from PIL import ExifTags, Image, UnidentifiedImageError
from torch import Tensor

from pipeline.common.photographs import FORMATS

# Pixels of a side, and in all (Pillow's own bound): a small file may declare any number.
LONGEST, MOST = 30_000, 178_956_970


ON_WHITE = "on white"  # key of an image's `info` where parts of it were transparent

_TURNS = {  # by EXIF's orientation
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_PNG = b"\x89PNG\r\n\x1a\n"
# Metadata that the decoded image depends on.
_PNG_PARTS = (b"IHDR", b"PLTE", b"tRNS", b"eXIf", b"IDAT", b"IEND")


class UnreadableImage(Exception):
    """A file that does not decode; the message says why."""


def read_image(path: Path | BinaryIO) -> Image.Image:
    """Decode a file (a path or an open file) to an RGB image, rotated by its EXIF orientation.

    Transparent parts are shown on white, as on a page; the image's `info` then has the key `ON_WHITE`.

    Raises:
        UnreadableImage: the file is missing, truncated, no image of `FORMATS`, or too large.
    """
    try:
        if isinstance(path, Path) and not stat.S_ISREG(path.stat().st_mode):  # a pipe would block its reader
            raise UnreadableImage("not a file")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the bounds are `_check_size`'s
            return _decode(path)
    except UnidentifiedImageError:
        kinds = ", ".join(FORMATS)
        raise UnreadableImage(f"not an image of a supported kind ({kinds}), or damaged") from None
    except Image.DecompressionBombError:
        raise UnreadableImage(f"its header declares more than {MOST:,} pixels") from None
    except UnreadableImage:
        raise
    except MemoryError:
        raise UnreadableImage("decoding it takes more memory than is available") from None
    except Exception as error:  # decoders raise whatever a broken file leads them into
        raise UnreadableImage(f"{type(error).__name__}: {error}") from error


def jpeg_of(path: Path, side: int, quality: int) -> bytes:
    """A file as JPEG, at most `side` pixels wide and high; raises `UnreadableImage` as `read_image`."""
    small = read_image(path)
    small.thumbnail((side, side))
    content = io.BytesIO()
    small.save(content, "JPEG", quality=quality, optimize=True)
    return content.getvalue()


def _decode(path: Path | BinaryIO) -> Image.Image:
    try:
        return _open_image(path)
    except (MemoryError, Image.DecompressionBombError):
        raise
    except Exception:
        if not (plain := _without_metadata(path)):
            raise
        return _open_image(plain)


def _open_image(path: Path | BinaryIO) -> Image.Image:
    with Image.open(path, formats=FORMATS) as image:
        _check_size(*image.size)
        image.load()
        return _rgb(_upright(image))


def _without_metadata(path: Path | BinaryIO) -> BinaryIO | None:
    """A PNG file with only the metadata that its picture depends on; None for other kinds of files."""
    with open(path, "rb") if isinstance(path, Path) else io.BytesIO(_content(path)) as file:
        if file.read(len(_PNG)) != _PNG:
            return None
        plain = io.BytesIO(_PNG)
        plain.seek(0, io.SEEK_END)
        while len(head := file.read(8)) == 8:
            size, kind = struct.unpack(">I4s", head)
            if kind not in _PNG_PARTS:
                file.seek(size + 4, io.SEEK_CUR)
                continue
            content = file.read(size + 4)
            if kind != b"eXIf" or zlib.crc32(kind + content[:-4]) == int.from_bytes(content[-4:]):
                plain.write(head + content)
    plain.seek(0)
    return plain


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _upright(image: Image.Image) -> Image.Image:
    try:
        turn = _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # metadata, which the decoded image does not depend on
        turn = None
    return image if turn is None else image.transpose(turn)


def _check_size(width: int, height: int) -> None:
    """Check the declared size before decoding: a decoder allocates what the header declares."""
    if max(width, height) > LONGEST or width * height > MOST:
        raise ValueError(
            f"found {width} x {height} pixels, expected at most {LONGEST:,} per side and {MOST:,} in all"
        )


def _rgb(image: Image.Image) -> Image.Image:
    # Pillow clips 16-bit grey at 255 instead of scaling it.
    if image.mode == "I" or image.mode.startswith("I;16"):
        grey = np.asarray(image)
        if grey.min() < 0 or grey.max() > 65535:
            raise ValueError("grey values outside 16 bits")
        alpha = np.where(grey == image.info.get("transparency", -1), 0, 255).astype(np.uint8)
        image = Image.merge("LA", list(map(Image.fromarray, (np.rint(grey / 257).astype(np.uint8), alpha))))
    elif image.mode == "F":
        raise ValueError("floating-point pixels; save the image with 8 or 16 bits")
    return _on_white(image.convert("RGBA")) if image.has_transparency_data else image.convert("RGB")


def _on_white(image: Image.Image) -> Image.Image:
    """An RGBA image on white: the colour of a transparent pixel depends on the program that wrote it."""
    transparent = np.asarray(image.getchannel("A")).min() < 255
    composite = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    composite.info = {ON_WHITE: True} if transparent else {}
    return composite


def resize_image(image: Image.Image, resize: int, interpolation: str) -> Tensor:
    """Resize the shorter side of an RGB image to `resize` pixels, antialiased: (3, height, width) uint8."""
    # Seconds of processor time, which reading images does not need.
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as transforms

    if max(image.size) * resize > LONGEST * min(image.size):
        raise UnreadableImage(f"found {image.width} x {image.height} pixels, too long for its width")
    small = transforms.resize(image, [resize], InterpolationMode(interpolation))
    return torch.from_numpy(np.array(small)).permute(2, 0, 1)


def windows(height: int, width: int, crop: int, crops: int) -> list[tuple[int, int]]:
    """Top and left of each crop: the centre, or the corners (row by row) and then the centre."""
    centre = (round((height - crop) / 2), round((width - crop) / 2))
    if crops < 5:
        return [centre]
    return [(0, 0), (0, width - crop), (height - crop, 0), (height - crop, width - crop), centre]


def has_mirror(crops: int) -> bool:
    """Whether the crops of the mirrored image follow those of the image."""
    return crops in (2, 10)


def views(pixels: Tensor, crop: int, crops: int) -> list[Tensor]:
    """Cut an image into crops, in the order of torchvision's FiveCrop and TenCrop.

    Args:
        pixels: (3, height, width), on any device; neither side shorter than `crop`.
        crops: 1 (centre), 2 (centre, mirrored), 5 or 10.

    Returns:
        `crops` tensors (3, crop, crop); they share memory with the image or its mirror.
    """
    whole = [pixels, pixels.flip(2)] if has_mirror(crops) else [pixels]
    places = windows(pixels.shape[1], pixels.shape[2], crop, crops)
    return [image[:, top : top + crop, left : left + crop] for image in whole for top, left in places]


def window_weights(size: tuple[int, int], cells: tuple[int, int], crop: int, crops: int) -> Tensor:
    """Weight of each cell of a feature map in the mean over the windows.

    A window averages the cells that it covers; cells at its border count by the part inside.

    Args:
        size: height and width of the image in pixels. cells: height and width of its feature map.

    Returns:
        cells, float32; sums to 1.
    """
    places = windows(*size, crop, crops)
    each = [
        np.outer(_cell_shares(top, size[0], cells[0], crop), _cell_shares(left, size[1], cells[1], crop))
        for top, left in places
    ]
    return torch.from_numpy(np.mean(each, axis=0).astype(np.float32))


def _cell_shares(begin: int, pixels: int, cells: int, crop: int) -> np.ndarray:
    """Share of a window that each cell of a row holds; sums to 1."""
    scale = cells / pixels
    edges = np.clip(np.arange(cells + 1), begin * scale, (begin + crop) * scale)
    return np.diff(edges) / (crop * scale)
