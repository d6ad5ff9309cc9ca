"""The feature store: one HDF5 file with `features` (N, D) float32, `image` (N,) ids, and attributes.

The attributes say how the features were made; a reader refuses a store with other attributes than it expects.
`failed` has the ids of images that did not decode, so that they have no features.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import reading, require_file
from pipeline.common.hdf5 import create_hdf5


def write_features(
    path: Path,
    images: Sequence[str],
    features: np.ndarray,
    attributes: Mapping[str, object],
    failed: Sequence[str] = (),
) -> None:
    """Write features (len(images), D) with their attributes, whole or not at all."""
    text = h5py.string_dtype("utf-8")
    with create_hdf5(path, features.size * 4) as file:
        # A checksum a row.
        rows = features.astype(np.float32, copy=False)
        file.create_dataset("features", data=rows, chunks=(1, rows.shape[1]), fletcher32=True)
        file.create_dataset("image", data=list(images), dtype=text)
        file.create_dataset("failed", data=list(failed), dtype=text)
        file.attrs.update(attributes)


def read_features(path: Path, images: list[str], expected: Mapping[str, object]) -> np.ndarray:
    """Read the features of some images, in their order.

    Args:
        images: ids; an id may come more than once.
        expected: attributes the store must have (see `settings.expected_attributes`); may be few or none.

    Returns:
        (len(images), D) float32.

    Raises:
        InputError: the file is damaged, has other attributes than expected, lacks images, or has values that
            are not finite.
    """
    ids, features, attributes = read_store(path)
    mistakes = [
        f"{key}: found {attributes.get(key, 'nothing')!r}, expected {value!r}"
        for key, value in expected.items()
        if attributes.get(key) != value
    ]
    raise_together(
        mistakes, f"{path}: features were made with other settings; extract again or correct the settings:"
    )
    return _rows(path, ids, features, images)


def read_store(path: Path) -> tuple[list[str], np.ndarray, dict[str, object]]:
    """Read a whole store: image ids, features (N, D) as stored, attributes.

    Raises:
        InputError: the file is not a store, or names an image twice.
    """
    require_file(
        path, "the feature store", "Run `python -m pipeline extract-features`, or give another file."
    )
    with (
        reading(path, "an HDF5 file with features (N, D) and image (N,)", "Make or fetch it again."),
        h5py.File(path) as file,
    ):
        features, images = file["features"][...], [str(image) for image in file["image"].asstr()[...].ravel()]
        attributes = {key: _plain(value) for key, value in file.attrs.items()}
    if features.ndim != 2 or not features.size or len(features) != len(images) or features.dtype.kind != "f":
        raise InputError(
            f"{path}: features are {features.dtype} {features.shape} for {len(images)} images; expected "
            "floating-point numbers (N, D), one row for each image."
        )
    if repeats := [image for image, count in Counter(images).items() if count > 1]:
        raise InputError(f"{path}: {_first(repeats)} are in it more than once; expected each image once.")
    return images, features, attributes


def store_attributes(path: Path) -> dict[str, Any]:
    """Attributes of a store as plain values: how its photographs became features."""
    with reading(path, "a feature store", "Make or fetch it again."), h5py.File(path) as file:
        return {key: _plain(value) for key, value in file.attrs.items()}


def failed_images(path: Path) -> set[str]:
    """Images that did not decode when a store was made, so that it has no features of them."""
    with reading(path, "a feature store", "Make or fetch it again."), h5py.File(path) as file:
        return {str(image) for image in file["failed"].asstr()[...]} if "failed" in file else set()


def _rows(path: Path, ids: list[str], features: np.ndarray, images: list[str]) -> np.ndarray:
    """Rows of `images` as (len(images), D) float32; raises `InputError` if any are missing or not finite."""
    row = {image: index for index, image in enumerate(ids)}
    if missing := [image for image in dict.fromkeys(images) if image not in row]:
        raise InputError(
            f"{path}: it holds {len(ids)} images, but not {_first(missing)}; ids there are such as "
            f"{ids[0]!r}. Extract features for the whole caption table, or give a fuller file."
        )
    rows = features[[row[image] for image in images]].astype(np.float32)
    if invalid := [images[row] for row in np.flatnonzero(~np.isfinite(rows).all(axis=1))]:
        raise InputError(
            f"{path}: NaN or infinite features for {_first(invalid)}, as float32. Make the features again."
        )
    return rows


def _first(images: Sequence[str]) -> str:
    more = ", ..." if len(images) > 10 else ""
    return f"{len(images)} images ({', '.join(images[:10])}{more})"


def _plain(attribute: Any) -> Any:
    """An attribute of HDF5 as a value of JSON; MATLAB and others write text as bytes."""
    if isinstance(attribute, bytes):
        return attribute.decode("utf-8", "replace")
    return attribute.tolist() if isinstance(attribute, np.ndarray | np.generic) else attribute
