"""From a photograph's file to its crops.

Workers read and resize; crops are cut, mirrored and normalised where the network is, see `backbone`.
"""

import io
import warnings
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from pipeline.common.photographs import FORMATS


class UnreadableImage(Exception):
    """A file that does not decode; the message says why."""


def read_image(path: str | Path | BinaryIO) -> Image.Image:
    """Decode a file (a path or an open file) to an RGB image, rotated by its EXIF orientation.

    Transparent parts are shown on white, as on a page.

    Raises:
        UnreadableImage: the file is missing, truncated, no image of `FORMATS`, too large, or has 16-bit or
            floating-point pixels, which Pillow would clip.
    """
    try:
        with warnings.catch_warnings(), Image.open(path, formats=FORMATS) as image:
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # twice as many are an error
            image.load()
            if image.mode == "F" or image.mode.startswith("I"):
                raise UnreadableImage(f"pixels of mode {image.mode}; save the image with 8 bits per channel")
            upright = ImageOps.exif_transpose(image)
            if upright.has_transparency_data:
                white = Image.new("RGBA", upright.size, "white")
                upright = Image.alpha_composite(white, upright.convert("RGBA"))
            return upright.convert("RGB")
    except UnreadableImage:
        raise
    except Exception as error:  # decoders raise whatever a broken file leads them into
        raise UnreadableImage(f"{type(error).__name__}: {error}") from error


def jpeg_of(path: Path, side: int, quality: int) -> bytes:
    """A file as JPEG, at most `side` pixels wide and high; raises `UnreadableImage` as `read_image`."""
    small = read_image(path)
    small.thumbnail((side, side))
    content = io.BytesIO()
    small.save(content, "JPEG", quality=quality, optimize=True)
    return content.getvalue()


def resize_image(image: Image.Image, resize: int, interpolation: str) -> Tensor:
    """Resize the shorter side of an RGB image to `resize` pixels, antialiased: (3, height, width) uint8."""
    # Importing torchvision takes seconds, which reading images does not need.
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as transforms

    small = transforms.resize(image, [resize], InterpolationMode(interpolation))
    return torch.from_numpy(np.array(small)).permute(2, 0, 1)


def views(pixels: Tensor, crop: int, crops: int) -> list[Tensor]:
    """Crops of an image (3, height, width), on any device: `crops` tensors (3, crop, crop).

    One crop is the centre; ten are the corners and the centre, then those of the mirrored image.
    """
    from torchvision.transforms import functional as transforms

    if crops == 1:
        return [transforms.center_crop(pixels, [crop])]
    return list(transforms.ten_crop(pixels, [crop]))
