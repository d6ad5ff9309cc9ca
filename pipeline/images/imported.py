"""Precomputed features, checked and written as a feature store."""

import logging
import unicodedata
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pipeline.common.errors import raise_together
from pipeline.common.files import sha256
from pipeline.datasets.split import image_name, read_split
from pipeline.images.settings import ImportSettings
from pipeline.images.store import read_store, rows_of, write_features

log = logging.getLogger("pipeline")


def import_features(features: Path, split: Path, settings: ImportSettings, output: Path) -> None:
    """Check precomputed features of the images of a data set, and write them as a feature store.

    Args:
        features: HDF5 file: features (N, D), image (N,).
        split: output of `split`: the images of the data set.
        settings: JSON: backbone and dimension that the features must have.
        output: feature store to write (HDF5).
    """
    import_store(features, list(read_split(split)), settings, output)


def import_store(source: Path, images: list[str], settings: ImportSettings, output: Path) -> None:
    """Write the features of `images` from `source` to the store `output`.

    The source's attributes are kept as `source_...`. Its backbone may have a remark in brackets: "resnet50
    (stride on the 1x1 convolution)" is a "resnet50". If the source names no backbone, the configured one is
    assumed, with a warning.

    Raises:
        InputError: `source` is incomplete, does not match the settings, lacks images, or has values that are
            not finite.
    """
    ids, features, attributes = read_store(source)
    _check_spellings(source, ids, images)
    backbone = _text(attributes.get("backbone"))
    name = backbone or settings.backbone or "none named"
    if not backbone:
        log.warning(
            "%s: has no attribute `backbone`; it is assumed to be %r, the configured backbone "
            "(images.backbone). "
            "To be sure, name the network in the file: file.attrs['backbone'] = %r",
            source, settings.backbone, settings.backbone,
        )  # fmt: skip
    dimension = features.shape[1]
    mistakes = []
    if settings.backbone is not None and settings.backbone not in (name, name.partition(" (")[0]):
        mistakes.append(f"backbone: found {name!r}, expected {settings.backbone!r}")
    if settings.dimension not in (None, dimension):
        mistakes.append(f"dimension: found {dimension}, expected {settings.dimension}")
    raise_together(mistakes, f"{source}: not the features configured; import others or correct the settings:")
    attributes_of_store: dict[str, Any] = {
        "backbone": settings.backbone or name,
        "dimension": dimension,
        "imported_from": source.name,
        "imported_sha256": sha256(source),
        **{f"source_{key}": value for key, value in attributes.items()},
    }
    rows = rows_of(source, ids, features, images)
    write_features(output, images, rows, attributes_of_store)


def _check_spellings(source: Path, ids: list[str], images: list[str]) -> None:
    """Raise `InputError` if ids in a file differ, but stand for one of the images: `a` and `a.jpg`."""
    ids_of: dict[str, list[str]] = {}
    for one in ids:
        ids_of.setdefault(_name(one), []).append(one)
    several = (ids_of.get(_name(image), []) for image in images)
    mistakes = [", ".join(map(repr, spellings)) for spellings in several if len(spellings) > 1]
    raise_together(mistakes, f"{source}: ids that stand for the same image; keep one row of each image:")


def _name(image: str) -> str:
    return unicodedata.normalize("NFC", image_name(image.strip()))


def _text(attribute: object) -> str:
    """An attribute of HDF5 as text; MATLAB and others write bytes, or a list of one text."""
    if isinstance(attribute, np.ndarray) and attribute.size == 1:
        attribute = attribute.item()
    if isinstance(attribute, bytes):
        return attribute.decode("utf-8", "replace")
    return "" if attribute is None or isinstance(attribute, h5py.Empty) else str(attribute)
