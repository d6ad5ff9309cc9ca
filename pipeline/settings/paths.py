"""Every path of a configuration must exist before anything runs."""

import os
from collections.abc import Iterator
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.images.settings import FeatureSet, Images
from pipeline.settings.configuration import Configuration

# Values of keys that hold paths, or one of these names.
_NAMES = ("multi30k", "flickr8k", "flickr30k", "mscoco", "timm")
_ELSEWHERE = ("http://", "https://", "package:")
# Folders that rules write to, so that a path in them need not exist yet.
_OUTPUT_FOLDERS = ("work/sources", "work/photographs", "work/{run}")


def check_paths(settings: Configuration) -> None:
    """Check that every configured path exists, whether the target needs it or not, but data on request.

    Snakemake itself accepts a missing input if an older result that was made of it exists.

    Raises:
        InputError: paths are missing; every one is listed with its key.
    """
    folders = [os.path.abspath(name.format(run=settings.run)) for name in _OUTPUT_FOLDERS]
    missing = [
        f"{key}: {path}: not there"
        for key, path in dict.fromkeys(_configured_paths(settings))
        if not os.path.exists(path)
        and not any(Path(os.path.abspath(path)).is_relative_to(folder) for folder in folders)
    ]
    raise_together(missing, f"Paths in the configuration that are missing (relative to {os.getcwd()}):")


def _configured_paths(settings: Configuration) -> Iterator[tuple[str, str]]:
    """Key and value of every path that must be there."""
    bert, datasets = settings.bert.model, settings.datasets
    sets: dict[str, Images | FeatureSet] = {"images": settings.images}
    sets |= {f"images.sets.{name}": own for name, own in settings.images.sets.items() if own is not None}
    values = {
        "sources.mirror": settings.sources.mirror,
        "images.list": settings.images.list,
        "translation.dictionaries": settings.translation.dictionaries,
        # On the Hugging Face hub names are NAME or OWNER/NAME.
        "bert.model": bert if bert.startswith((".", "/")) or bert.count("/") > 1 else None,
    }
    for where, images in sets.items():
        values |= {f"{where}.features": images.features, f"{where}.weights": images.weights}
    for name, data in datasets.items():
        values |= {f"datasets.{name}.split": data.split, f"datasets.{name}.images": data.images}
        for language in data.languages if data.captions else []:
            yield f"datasets.{name}.captions", str(data.captions).replace("{language}", language)
    for key, value in values.items():
        if value and value not in _NAMES and not value.startswith(_ELSEWHERE):
            yield key, value
