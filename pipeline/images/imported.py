"""Precomputed features, checked and written as a feature store."""

import logging
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.files import sha256
from pipeline.datasets.split import read_split
from pipeline.images.settings import FeatureSettings
from pipeline.images.store import read_features, store_attributes, write_features

log = logging.getLogger("pipeline")


def import_features(features: Path, split: Path, settings: FeatureSettings, output: Path) -> None:
    """Check precomputed features of the images of a data set, and write them as a feature store.

    The file's attributes are kept as `source_...`. If it names no backbone, the configured one is assumed,
    with a warning.

    Args:
        features: HDF5 file: features (N, D), image (N,).
        split: output of `split`: the images of the data set.
        settings: JSON: backbone and dimension that the features must have.
        output: feature store to write (HDF5).

    Raises:
        InputError: the file is damaged, does not match the settings, lacks images, or has values that are not
            finite.
    """
    images, attributes = list(read_split(split)), store_attributes(features)
    expected = {"backbone": settings.backbone} if settings.backbone and "backbone" in attributes else {}
    rows = read_features(features, images, expected)
    backbone = attributes.get("backbone", settings.backbone or "none named")
    if "backbone" not in attributes:
        log.warning("%s: has no attribute `backbone`; assuming %r (images.backbone)", features, backbone)
    if settings.dimension not in (None, rows.shape[1]):
        raise InputError(f"{features}: dimension: found {rows.shape[1]}, expected {settings.dimension}")
    attributes_of_store = {
        "backbone": backbone,
        "dimension": rows.shape[1],
        "imported_from": features.name,
        "imported_sha256": sha256(features),
        **{f"source_{key}": value for key, value in attributes.items()},
    }
    write_features(output, images, rows, attributes_of_store)
