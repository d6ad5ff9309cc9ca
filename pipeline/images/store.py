"""The feature store: one HDF5 file with `features` (N, D) float32, `image` (N,) ids, and attributes.

The attributes say how the features were made; a reader refuses features that were made otherwise.
A store that was extracted here also has the mask `done` (N,): images that failed have a row, but no features.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from pipeline.common.bounds import RATIO, max_unpacked
from pipeline.common.characters import shown
from pipeline.common.errors import InputError, disk_message, raise_together
from pipeline.common.files import name_in_errors, require_file
from pipeline.common.hdf5 import create_hdf5

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
        if key not in attributes or not equal(attributes[key], value)
    ]
    raise_together(
        mistakes, f"{path}: features were made with other settings; extract again or correct the settings:"
    )
    return selected(path, stored, features, images)


def read_store(path: Path) -> tuple[list[str], np.ndarray, dict[str, object]]:
    """Read a whole store: image ids, features (N, D) as stored, attributes."""
    with _opened(path) as file:
        if file["image"].shape != (len(file["image"]), *(1,) * (file["image"].ndim - 1)):
            raise InputError(
                f"{path}: image: found shape {file['image'].shape}, expected one id for each row."
            )
        features = file["features"][...]
        images = [str(image) for image in file["image"].asstr()[...].ravel()]
        attributes = dict(file.attrs)
    _check_shape(path, images, features)
    return images, features, attributes


def equal(one: object, other: object) -> bool:
    """Whether two values of an attribute are equal, which may be numbers, texts or lists."""
    return np.array_equal(np.asarray(one), np.asarray(other))


def failed_images(path: Path) -> set[str]:
    """Images of a store that did not decode when it was made, so that it has no features of them."""
    with _opened(path) as file:
        if "done" not in file:
            return set()
        images, done = file["image"].asstr()[...], file["done"][...]
    if count := int((done == PENDING).sum()):
        raise InputError(
            f"{path}: unfinished, {count} images are still to come. Finish its extraction first."
        )
    return set(images[done == FAILED])


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    require_file(
        path, "the feature store", "Run `python -m pipeline extract-features`, or give another file."
    )
    try:
        with name_in_errors(path), h5py.File(path) as file:
            if missing := {"features", "image"} - file.keys():
                raise InputError(
                    f"{path}: dataset {' and '.join(sorted(missing))} is missing; found "
                    f"{', '.join(file) or 'nothing'}. Expected features (N, D) and image (N,)."
                )
            if not all(isinstance(file[name], h5py.Dataset) for name in ("features", "image")):
                raise InputError(f"{path}: found a group, expected datasets features (N, D) and image (N,).")
            if (found := file["image"].dtype).kind not in "OS":
                raise InputError(
                    f"{path}: image: found {found}, expected texts: the ids of images as captions have them "
                    "(h5py: file['image'] = [str(id) for id in ids])."
                )
            for name in ("features", "image"):
                _check_inside(path, file, name)
            yield file
    except (OSError, TypeError, ValueError, RuntimeError, KeyError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"{path}: image: found ids that are not UTF-8, expected texts.") from None
        if disk_message(error):  # a file that is locked or on a failing disk is no damaged one
            raise
        raise InputError(
            f"{path}: not a whole HDF5 file: {_reason(error)}. Make or fetch it again."
        ) from error


def _check_inside(path: Path, file: h5py.File, name: str) -> None:
    """A dataset lies in its own file, whose digest tells of changes, and is about as large as it declares."""
    dataset = file[name]
    elsewhere = isinstance(file.get(name, getlink=True), h5py.ExternalLink)
    if elsewhere or dataset.external or dataset.is_virtual:
        raise InputError(f"{path}: {name}: lies in another file. Copy its content into this one.")
    held = dataset.id.get_storage_size()
    if dataset.nbytes > max_unpacked(held):
        raise InputError(
            f"{path}: {name}: declares {dataset.nbytes:,} bytes and holds {held:,}, which features never do "
            f"(over {RATIO} to 1). Make or fetch it again."
        )


def _reason(error: Exception) -> str:
    """What HDF5 says, without the addresses in memory that it adds."""
    # h5py's own words: name_in_errors gives the error the file's name, and with it another text.
    text = (str(error.args[0]) if error.args else str(error)).partition("\n")[0]
    return re.sub(r"\(?\b(?:0x[0-9a-f]+|[a-z ]+ = 0x[0-9a-f]+)\b\)?", "", text)[:200] or type(error).__name__


def _check_shape(path: Path, images: list[str], features: np.ndarray) -> None:
    if features.ndim != 2 or not features.size or len(features) != len(images) or features.dtype.kind != "f":
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
            f"{path}: it holds {len(stored)} images, but not {_first(missing)}; ids there are such as "
            f"{stored[0]!r}. Extract features for the whole caption table, or give a fuller file."
        )
    rows = features[[row[image] for image in images]].astype(np.float32)
    broken = [images[index] for index in np.flatnonzero(~np.isfinite(rows).all(axis=1))]
    if broken:
        raise InputError(f"{path}: NaN or infinite features for {_first(broken)}. Make the features again.")
    return rows


def _first(images: list[str]) -> str:
    more = ", ..." if len(images) > 10 else ""
    return f"{len(images)} images ({', '.join(map(shown, images[:10]))}{more})"


def _shown(value: object) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
