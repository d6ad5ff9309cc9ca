"""Every path of a configuration must exist before anything runs."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.common.errors import raise_together
from pipeline.common.photographs import ARCHIVES, is_archive
from pipeline.settings.configuration import Configuration

FILE, FOLDER, EITHER = "a file", "a folder", f"a folder or an archive ({', '.join(ARCHIVES)})"

# What each key that holds a path must name, by block; data on request may be missing.
_KINDS = {
    "sources": {"mirror": FOLDER},
    "images": {"features": FILE, "list": FILE, "weights": FILE},
    "translation": {"dictionaries": FOLDER},
    "bert": {"model": FOLDER},
    "datasets": {"captions": FILE, "split": FILE, "images": EITHER},
}
# Values that are names, not paths.
_NAMES = {
    "split": ("multi30k", "flickr8k"),
    "images": ("flickr8k", "flickr30k", "mscoco"),
    "weights": ("timm",),
    "model": ("pretrain",),
}
# Folders that rules write to, so that a path in them need not exist yet.
_OUTPUT_FOLDERS = ("work/sources", "work/photographs", "work/{run}")


def check_paths(settings: Configuration) -> None:
    """Check that every configured path exists, whether the target needs it or not.

    Snakemake itself accepts a missing input if an older result that was made of it exists.

    Raises:
        InputError: paths are missing or name something else; every one is listed with its key.
    """
    folders = [os.path.abspath(name.format(run=settings.run)) for name in _OUTPUT_FOLDERS]
    mistakes = []
    for where, path, kind in _configured_paths(settings):
        made_here = any(Path(os.path.abspath(path)).is_relative_to(folder) for folder in folders)
        if not os.path.exists(path) and not made_here:
            mistakes.append(f"{where}: {path}: not there, expected {kind}")
        elif os.path.isdir(path) and kind == FILE:
            mistakes.append(f"{where}: {path}: a folder, expected {kind}")
        elif os.path.isfile(path) and (kind == FOLDER or (kind == EITHER and not is_archive(path))):
            mistakes.append(f"{where}: {path}: a file, expected {kind}")
    raise_together(mistakes, f"Paths in the configuration that cannot be used (relative to {os.getcwd()}):")


def _configured_paths(settings: Configuration) -> Iterator[tuple[str, str, str]]:
    """Key, path and what it must name, of every path that must be there."""
    images, datasets = settings.images, settings.datasets
    blocks: list[tuple[str, str, Any]] = [
        *((name, name, getattr(settings, name)) for name in ("sources", "images", "translation", "bert")),
        *(("images", f"images.sets.{name}", own) for name, own in images.sets.items() if own is not None),
        *(("datasets", f"datasets.{name}", data) for name, data in datasets.items()),
    ]
    for kinds, where, block in blocks:
        for key, kind in _KINDS[kinds].items():
            value = getattr(block, key, None)
            if value is None or value in _NAMES.get(key, ()) or _is_elsewhere(key, value):
                continue
            languages = block.languages if "{language}" in value else [""]
            for language in languages:
                yield f"{where}.{key}", value.replace("{language}", language), kind


def _is_elsewhere(key: str, value: str) -> bool:
    """Whether a value names something on a server, in a package or on the Hugging Face hub."""
    if key == "model":  # on the hub names are NAME or OWNER/NAME
        return not value.startswith((".", "/")) and value.count("/") < 2 and not os.path.exists(value)
    return value.startswith(("http://", "https://", "package:"))
