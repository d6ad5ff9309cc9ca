"""The feature store: one HDF5 file with `features` (N, D) float32, `image` (N,) ids, and attributes.

The attributes say how the features were made; a reader refuses a store with other attributes than it expects.
A store that was extracted here also has the mask `done` (N,): images that failed have a row, but no features.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pipeline.common.characters import printable_name
from pipeline.common.errors import InputError, raise_together
from pipeline.common.file_kinds import HDF5, file_kind
from pipeline.common.files import require_file
from pipeline.common.hdf5 import create_hdf5, dataset_mistake, hdf5_reason

PENDING, DONE, FAILED = 0, 1, 2  # values of the mask `done`; no finished store has a row that is pending


def write_features(
    path: Path, images: list[str], features: np.ndarray, attributes: Mapping[str, object]
) -> None:
    """Write features (len(images), D) with their attributes, whole or not at all."""
    with create_hdf5(path, features.size * 4) as file:
        rows = features.astype(np.float32, copy=False)
        file.create_dataset("features", data=rows, chunks=(1, max(1, rows.shape[1])), fletcher32=True)
        file.create_dataset("image", data=images, dtype=h5py.string_dtype("utf-8"))
        file.attrs.update(attributes)


def read_features(path: Path, images: list[str], expected: Mapping[str, object]) -> np.ndarray:
    """Read the features of some images, in their order.

    Args:
        images: ids; an id may come more than once.
        expected: attributes the store must have (see `settings.expected_attributes`); may be few or none.

    Returns:
        (len(images), D) float32.

    Raises:
        InputError: the file is incomplete, has other attributes than expected, lacks images, or has values
            that are not finite.
    """
    ids, features, attributes = read_store(path)
    mistakes = [
        f"{key}: found {_display(attributes.get(key, 'nothing'))}, expected {_display(value)}"
        for key, value in expected.items()
        if key not in attributes or not equal(attributes[key], value)
    ]
    raise_together(
        mistakes, f"{path}: features were made with other settings; extract again or correct the settings:"
    )
    return rows_of(path, ids, features, images)


def read_store(path: Path) -> tuple[list[str], np.ndarray, dict[str, object]]:
    """Read a whole store: image ids, features (N, D) as stored, attributes."""
    with open_store(path) as file:
        features, images = file["features"][...], store_images(file)
        attributes = dict(file.attrs)
    if repeats := [image for image, count in Counter(images).items() if count > 1]:
        raise InputError(f"{path}: {_first(repeats)} are in it more than once; expected each image once.")
    return images, features, attributes


def store_attributes(path: Path) -> dict[str, Any]:
    """Attributes of a store as plain values: how its photographs became features."""
    with open_store(path) as file:
        return {key: _plain(value) for key, value in file.attrs.items()}


def _plain(attribute: Any) -> Any:
    """An attribute of HDF5 as a value of JSON; MATLAB and others write text as bytes."""
    if isinstance(attribute, bytes):
        return attribute.decode("utf-8", "replace")
    return attribute.tolist() if isinstance(attribute, np.ndarray | np.generic) else attribute


def equal(one: object, other: object) -> bool:
    """Whether two values of an attribute are equal, which may be numbers, texts or lists."""
    return np.array_equal(np.asarray(one), np.asarray(other))


def store_images(file: h5py.File) -> list[str]:
    """Ids of the images of an open store."""
    return [str(image) for image in file["image"].asstr()[...].ravel()]


def failed_images(path: Path) -> set[str]:
    """Images of a store that did not decode when it was made, so that it has no features of them."""
    with open_store(path) as file:
        if "done" not in file:
            return set()
        images, done = file["image"].asstr()[...], file["done"][...]
    if count := int((done == PENDING).sum()):
        raise InputError(
            f"{path}: unfinished, {count} images are still to come. Finish its extraction first."
        )
    return set(images[done == FAILED])


@contextmanager
def open_store(path: Path) -> Iterator[h5py.File]:
    """A store opened for reading; raises `InputError` if the file is not a complete store."""
    require_file(
        path, "the feature store", "Run `python -m pipeline extract-features`, or give another file."
    )
    try:
        with h5py.File(path) as file:
            _check(path, file)
            yield file
    except (OSError, TypeError, ValueError, RuntimeError, KeyError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"{path}: image: found ids that are not UTF-8, expected texts.") from None
        if isinstance(error, OSError) and error.errno:  # locked, or the disk fails: not damaged
            raise
        with open(path, "rb") as content:
            beginning = content.read(64)
        kind = file_kind(beginning) if beginning else "an empty file"
        found = f"found {kind}" if kind and kind != HDF5 else hdf5_reason(error)
        raise InputError(f"{path}: not a whole HDF5 file: {found}. Make or fetch it again.") from error


def _check(path: Path, file: h5py.File) -> None:
    if missing := {"features", "image"} - file.keys():
        raise InputError(
            f"{path}: dataset {' and '.join(sorted(missing))} is missing; found "
            f"{', '.join(file) or 'nothing'}. Expected features (N, D) and image (N,)."
        )
    if mistakes := list(filter(None, (dataset_mistake(file, name) for name in ("features", "image")))):
        raise InputError(f"{path}: {'. '.join(mistakes)}.")
    features, image = file["features"], file["image"]
    if h5py.check_string_dtype(image.dtype) is None:
        raise InputError(
            f"{path}: image: found {image.dtype}, expected texts: the ids of images as captions have them "
            "(h5py: file['image'] = [str(id) for id in ids])."
        )
    if image.shape[1:] != (1,) * (image.ndim - 1) or not image.ndim:
        raise InputError(f"{path}: image: found shape {image.shape}, expected one id for each row.")
    if features.ndim != 2 or not features.size or len(features) != len(image) or features.dtype.kind != "f":
        raise InputError(
            f"{path}: features are {features.dtype} {features.shape} for {len(image)} images; expected "
            "floating-point numbers (N, D), one row for each image."
        )


def rows_of(path: Path, ids: list[str], features: np.ndarray, images: list[str]) -> np.ndarray:
    """Rows of `images` as (len(images), D) float32; raises `InputError` if any are missing or not finite."""
    row = {image: index for index, image in enumerate(ids)}
    missing = [image for image in dict.fromkeys(images) if image not in row]
    if missing:
        raise InputError(
            f"{path}: it holds {len(ids)} images, but not {_first(missing)}; ids there are such as "
            f"{ids[0]!r}. Extract features for the whole caption table, or give a fuller file."
        )
    with np.errstate(over="ignore"):  # reported by `check_rows`
        rows = features[[row[image] for image in images]].astype(np.float32)
    check_rows(path, images, rows)
    return rows


def check_rows(path: Path, images: Sequence[str], rows: np.ndarray) -> None:
    """Raise `InputError` for rows that cannot be features: not finite, or a single repeated number."""
    finite = np.isfinite(rows).all(axis=1)
    invalid = [image for image, sound in zip(images, finite, strict=True) if not sound]
    if invalid:
        raise InputError(
            f"{path}: NaN or infinite features for {_first(invalid)}, as float32. Make the features again."
        )
    if rows.shape[1] < 2:
        return
    alike = zip(images, rows, (rows == rows[:, :1]).all(axis=1), strict=True)
    mistakes = [
        f"{printable_name(image)}: nothing but {row[0]:g}" for image, row, constant in alike if constant
    ]
    raise_together(
        mistakes,
        f"{path}: {len(mistakes)} of {len(images)} images have no features, for example because a "
        f"photograph did not decode; make them again, or leave these images out (images.list):",
    )


def _first(images: list[str]) -> str:
    more = ", ..." if len(images) > 10 else ""
    return f"{len(images)} images ({', '.join(map(printable_name, images[:10]))}{more})"


def _display(value: object) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
