"""From a photograph's file to its crops."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as transforms


class UnreadableImage(Exception):
    """A file that does not decode; the message names it and says why."""


def read_image(path: Path) -> Image.Image:
    """Decode a file to an RGB image, turned upright as its EXIF orientation says.

    Raises:
        UnreadableImage: the file is missing, truncated, or no image.
    """
    try:
        with Image.open(path) as opened:
            return _rgb(ImageOps.exif_transpose(opened))
    except Exception as error:  # decoders raise whatever a broken file leads them into
        raise UnreadableImage(f"{path}: {type(error).__name__}: {error}") from error


def _rgb(image: Image.Image) -> Image.Image:
    # Pillow clips 16-bit grey at 255 instead of scaling it.
    if image.mode == "I" or image.mode.startswith("I;16"):
        grey = np.asarray(image)
        if grey.min() < 0 or grey.max() > 65535:
            raise ValueError("grey values outside 16 bits")
        image = Image.fromarray(np.rint(grey / 257).astype(np.uint8))
    elif image.mode == "F":
        raise ValueError("floating-point pixels; save the image with 8 or 16 bits")
    return image.convert("RGB")


def crops_of(image: Image.Image, resize: int, crop: int, crops: int, interpolation: str) -> torch.Tensor:
    """Cut an RGB image into crops.

    Args:
        image: any size; its shorter side is resized to `resize` pixels, antialiased.
        crop: side of a crop in pixels, at most `resize`.
        crops: 1 (centre), 2 (centre, mirrored), 5 or 10, as in torchvision's FiveCrop and TenCrop.
        interpolation: "bilinear" or "bicubic".

    Returns:
        (crops, 3, crop, crop) uint8.
    """
    small = transforms.resize(image, [resize], InterpolationMode(interpolation), antialias=True)
    pixels = transforms.pil_to_tensor(small)
    if crops >= 5:
        views = list(transforms.five_crop(pixels, [crop, crop]))
        if crops == 10:
            views += transforms.five_crop(transforms.hflip(pixels), [crop, crop])
    else:
        centre = transforms.center_crop(pixels, [crop, crop])
        views = [centre, transforms.hflip(centre)][:crops]
    return torch.stack(views)
