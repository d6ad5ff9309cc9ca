"""Extraction: every photograph of a caption table through the backbone."""

import hashlib
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pipeline.errors import InputError, raise_together
from pipeline.images.backbone import Backbone
from pipeline.images.crops import UnreadableImage, crops_of, read_image
from pipeline.images.journal import Journal, open_journal
from pipeline.images.settings import ExtractionSettings, weights_name
from pipeline.images.store import write_features
from pipeline.progress import Progress, duration

log = logging.getLogger("pipeline")

ENDINGS = frozenset((".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"))
DECODERS = 4  # threads; Pillow lets go of the interpreter lock while it decodes
SHOWN = 20  # files named in one message

Loaded = list["Future[torch.Tensor]"]


def find_images(folder: Path, images: list[str]) -> dict[str, Path]:
    """Find the file of each image, anywhere below `folder`.

    A file belongs to the id that its name without ending is, or that stands before the first underscore
    of its name: Flickr8k names `1000268201_693b08cb0e.jpg` what Flickr30K names `1000268201.jpg`.

    Raises:
        InputError: lists the images that have no file or several.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder. Give the folder that holds the photographs.")
    whole, before_underscore = defaultdict(list), defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in ENDINGS:
            whole[path.stem].append(path)
            before_underscore[path.stem.partition("_")[0]].append(path)
    found = {image: whole.get(image) or before_underscore.get(image, []) for image in images}
    mistakes = [
        f"{image}: {f'{len(paths)} files, ' + ', '.join(map(str, paths[:3])) if paths else 'no file'}"
        for image, paths in found.items()
        if len(paths) != 1
    ]
    _raise_first(mistakes, f"{folder}: {len(mistakes)} of {len(images)} images have not exactly one file")
    return {image: paths[0] for image, paths in found.items()}


def extract(
    paths: dict[str, Path], backbone: Backbone, settings: ExtractionSettings, partial: Path, output: Path
) -> None:
    """Extract features of `paths` (image id to file) into the store `output`.

    What is done is kept in the journal `partial` until the store is whole: a killed run goes on from there.

    Raises:
        InputError: lists the images that do not decode; the others are in the journal then.
    """
    attributes = attributes_of(backbone, settings)
    keys = {image: _key(image, path) for image, path in paths.items()}
    with open_journal(partial, attributes, backbone.dimension) as journal:
        unreadable = _extract_missing(paths, keys, backbone, settings, journal)
        _raise_first(
            unreadable,
            f"{len(unreadable)} of {len(paths)} images do not decode; replace the files and run again "
            "(the other images are kept)",
        )
        features = np.stack([journal.features[key] for key in keys.values()])
        write_features(output, list(paths), features, attributes)
        partial.unlink()
    log.info("%s: features of %d images, %d numbers each", output, *features.shape)


def attributes_of(backbone: Backbone, settings: ExtractionSettings) -> dict[str, Any]:
    """How the features are made, as the store and the journal record it."""
    return {
        "backbone": settings.backbone,
        "weights": weights_name(settings.weights),
        "weights_sha256": backbone.weights_sha256,
        "resize": settings.resize,
        "crop": settings.crop,
        "crops": settings.crops,
        "interpolation": backbone.interpolation,
        "mean": backbone.mean,
        "std": backbone.std,
        "dimension": backbone.dimension,
        "pooling": "mean over crops of the backbone's pooled features, float32",
        **{f"{library}_version": version(library) for library in ("torch", "torchvision", "timm", "pillow")},
    }


def _extract_missing(
    paths: dict[str, Path],
    keys: dict[str, bytes],
    backbone: Backbone,
    settings: ExtractionSettings,
    journal: Journal,
) -> list[str]:
    """Fill the journal; return why images could not be read.

    Batches are cut the same way in every run and done as a whole, so that a resumed run rounds as an
    undisturbed one does.
    """

    def load(image: str) -> torch.Tensor:
        opened = read_image(paths[image])
        return crops_of(opened, settings.resize, settings.crop, settings.crops, backbone.interpolation)

    images = list(paths)
    batches = [images[i : i + settings.batch] for i in range(0, len(images), settings.batch)]
    missing = [batch for batch in batches if any(keys[image] not in journal.features for image in batch)]
    count = sum(map(len, missing))
    progress, begun = Progress("images", len(images), done=len(images) - count), time.monotonic()
    unreadable: list[str] = []
    for number, (batch, loaded) in enumerate(_loaded_ahead(missing, load)):
        errors = [str(error) for future in loaded if (error := _reason(future))]
        if errors:
            unreadable += errors
        else:
            features = backbone.features(torch.stack([future.result() for future in loaded]))
            journal.append([keys[image] for image in batch], features)
        progress.advance(len(batch))
        if number == 2:
            log.info("about %s for %d images", duration((time.monotonic() - begun) / 3 * len(missing)), count)
    return unreadable


def _loaded_ahead(
    batches: Iterable[list[str]], load: Callable[[str], torch.Tensor]
) -> Iterator[tuple[list[str], Loaded]]:
    """Yield each batch with its crops, while the next one is being decoded."""
    ahead: deque[tuple[list[str], Loaded]] = deque()
    with ThreadPoolExecutor(DECODERS) as pool:
        for batch in batches:
            ahead.append((batch, [pool.submit(load, image) for image in batch]))
            if len(ahead) == 2:
                yield ahead.popleft()
        yield from ahead


def _reason(future: "Future[torch.Tensor]") -> UnreadableImage | None:
    error = future.exception()
    if error is not None and not isinstance(error, UnreadableImage):
        raise error
    return error


def _key(image: str, path: Path) -> bytes:
    """16 bytes that change when the image's file does."""
    status = path.stat()
    text = f"{image}\n{status.st_size}\n{status.st_mtime_ns}"
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _raise_first(mistakes: list[str], heading: str) -> None:
    shown = "" if len(mistakes) <= SHOWN else f", first {SHOWN}"
    raise_together(mistakes[:SHOWN], f"{heading}{shown}:")
