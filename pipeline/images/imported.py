"""Precomputed features, checked and written as a feature store."""

import logging
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.common.files import sha256
from pipeline.datasets.split import read_split
from pipeline.images.settings import FeatureSettings
from pipeline.images.store import read_store, rows_of, write_features

log = logging.getLogger("pipeline")


def import_features(features: Path, split: Path, settings: FeatureSettings, output: Path) -> None:
    """Check precomputed features of the images of a data set, and write them as a feature store.

    The file's attributes are kept as `source_...`. Its backbone may have a remark in brackets: "resnet50
    (stride on the 1x1 convolution)" is a "resnet50". If the file names no backbone, the configured one is
    assumed, with a warning.

    Args:
        features: HDF5 file: features (N, D), image (N,).
        split: output of `split`: the images of the data set.
        settings: JSON: backbone and dimension that the features must have.
        output: feature store to write (HDF5).

    Raises:
        InputError: the file is damaged, does not match the settings, lacks images, or has values that are not
            finite.
    """
    ids, rows, attributes = read_store(features)
    images = list(read_split(split))
    backbone = attributes.get("backbone", "")
    name = backbone.decode("utf-8", "replace") if isinstance(backbone, bytes) else str(backbone)
    if not name:
        log.warning(
            "%s: has no attribute `backbone`; assuming %r (images.backbone)", features, settings.backbone
        )
        name = settings.backbone or "none named"
    mistakes = []
    if settings.backbone not in (None, name, name.partition(" (")[0]):
        mistakes.append(f"backbone: found {name!r}, expected {settings.backbone!r}")
    if settings.dimension not in (None, rows.shape[1]):
        mistakes.append(f"dimension: found {rows.shape[1]}, expected {settings.dimension}")
    raise_together(
        mistakes, f"{features}: not the features configured; import others or correct the settings:"
    )
    attributes_of_store = {
        "backbone": settings.backbone or name,
        "dimension": rows.shape[1],
        "imported_from": features.name,
        "imported_sha256": sha256(features),
        **{f"source_{key}": value for key, value in attributes.items()},
    }
    write_features(output, images, rows_of(features, ids, rows, images), attributes_of_store)
