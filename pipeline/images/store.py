"""The feature store: one HDF5 file with `features` (N, D) float32, `image` (N,) ids, and attributes.

The attributes say how the features were made; a reader refuses features that were made otherwise.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pipeline.errors import InputError, raise_together
from pipeline.files import existing, written_beside


def write_features(
    path: Path, images: list[str], features: np.ndarray, attributes: Mapping[str, Any]
) -> None:
    """Write features (len(images), D) with their attributes, whole or not at all."""
    with written_beside(path) as temporary, h5py.File(temporary, "w") as file:
        file["features"] = features.astype(np.float32, copy=False)
        file.create_dataset("image", data=images, dtype=h5py.string_dtype("utf-8"))
        file.attrs.update(attributes)


def read_features(path: Path, images: list[str], expected: Mapping[str, Any]) -> np.ndarray:
    """Read the features of some images, in the order asked for.

    Args:
        images: ids; an id may come more than once.
        expected: attributes the store must have (see `settings.expected_attributes`); may be few or none.

    Returns:
        (len(images), D) float32.

    Raises:
        InputError: the file is no whole store, was made otherwise than expected, lacks images, or holds
            values that are not finite.
    """
    stored, features, attributes = read_store(path)
    mistakes = [
        f"{key}: found {_shown(attributes.get(key, 'nothing'))}, expected {_shown(value)}"
        for key, value in expected.items()
        if key not in attributes or not np.array_equal(attributes[key], value)
    ]
    raise_together(
        mistakes, f"{path}: features were made otherwise; extract them anew or correct the settings:"
    )
    return selected(path, stored, features, images)


def read_store(path: Path) -> tuple[list[str], np.ndarray, dict[str, Any]]:
    """Read a whole store: image ids, features (N, D) as stored, attributes."""
    existing(path, "the feature store", "Run `python -m pipeline features`, or give another file.")
    try:
        with h5py.File(path) as file:
            if missing := {"features", "image"} - file.keys():
                raise InputError(
                    f"{path}: dataset {' and '.join(sorted(missing))} is missing; found "
                    f"{', '.join(file) or 'nothing'}. Expected features (N, D) and image (N,)."
                )
            features = file["features"][...]
            images = [str(image) for image in file["image"].asstr()[...].ravel()]
            attributes = dict(file.attrs)
    except (OSError, TypeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: not a whole feature store (HDF5): {error}. Delete it and make or fetch it again."
        ) from error
    _check_shape(path, images, features)
    return images, features, attributes


def _check_shape(path: Path, images: list[str], features: np.ndarray) -> None:
    if features.ndim != 2 or len(features) != len(images) or features.dtype.kind != "f":
        raise InputError(
            f"{path}: features are {features.dtype} {features.shape} for {len(images)} images; expected "
            "floating-point numbers, one row for each image."
        )
    repeated = [image for image, count in Counter(images).items() if count > 1]
    if repeated:
        raise InputError(f"{path}: {_first(repeated)} stand in it more than once; expected each image once.")


def selected(path: Path, stored: list[str], features: np.ndarray, images: list[str]) -> np.ndarray:
    """Rows of `images` as (len(images), D) float32; raises `InputError` for missing or non-finite ones."""
    row = {image: index for index, image in enumerate(stored)}
    missing = [image for image in dict.fromkeys(images) if image not in row]
    if missing:
        raise InputError(
            f"{path}: it holds {len(stored)} images, but not {_first(missing)}. "
            "Extract features for the whole caption table, or give a fuller file."
        )
    rows = features[[row[image] for image in images]].astype(np.float32)
    broken = [images[index] for index in np.flatnonzero(~np.isfinite(rows).all(axis=1))]
    if broken:
        raise InputError(f"{path}: NaN or infinite features for {_first(broken)}. Make the features again.")
    return rows


def _first(images: list[str]) -> str:
    more = ", ..." if len(images) > 10 else ""
    return f"{len(images)} images ({', '.join(images[:10])}{more})"


def _shown(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
