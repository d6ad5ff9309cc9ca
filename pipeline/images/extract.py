"""Extraction: every photograph of a list through the backbone.

Threads decode and resize the next photographs while the network reads a batch. Features go into a cache in
blocks, and from the cache into the feature store: a killed extraction loses the last block, and another list
or other photographs extract what is new.
"""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.common.progress import Progress
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.cache import FeatureCache, photograph_key
from pipeline.images.crops import UnreadableImage, read_image, resize_image
from pipeline.images.lists import check_failures, read_image_list
from pipeline.images.settings import ExtractionSettings, weights_name
from pipeline.images.store import write_features

log = logging.getLogger("pipeline")

SECONDS_OF_A_BLOCK = 30.0  # of work that a kill may cost

Photographs = Mapping[str, Path]  # file of each image


def extract_features(
    images: Path,
    settings: ExtractionSettings,
    output: Path,
    cache: Path,
    failed: Path | None = None,
    shard: str = "1-of-1",
    batch_size: int = 8,
    workers: int = 4,
    threads: int | None = None,
    compile: bool = False,
    max_failed_fraction: float = 0.0,
    code: str = "",
) -> None:
    """Extract the features of the images of a list.

    Args:
        images: output of `find-images`.
        settings: JSON: backbone, weights, resize, crop, crops, ... (pipeline/images/settings.py).
        output: feature store to write (HDF5); of a shard, only the list of its images that failed (CSV).
        cache: folder of features that earlier runs have extracted, and to which this one adds.
        failed: list to write, of the images that failed (CSV); default: `failed.csv` next to the store.
        shard: I-of-N: only part I of N, whose features go into the cache.
        batch_size: images per forward pass, each with all its crops.
        workers: threads that decode and resize.
        threads: threads of the network on a CPU; default: all.
        compile: use torch.compile, on a GPU.
        max_failed_fraction: fraction of the images that may fail.
        code: digest of the code of this stage.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        # Otherwise each decoding thread starts its own team of threads to copy an image.
        torch.set_num_threads(1)
    elif threads:
        torch.set_num_threads(threads)
    paths = read_image_list(images)
    backbone = load_backbone(settings, device, min(batch_size, len(paths)), compile)
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    log.info("extracting on %s in %s, %d images per batch", name, backbone.precision, backbone.batch)
    known = FeatureCache(cache, {**attributes_of(backbone, settings), "code": code})
    number, _, count = shard.partition("-of-")
    if count != "1":
        part = _shard(paths, int(number), int(count))
        check_failures(fill(known, part, backbone, settings, workers), part, 1.0, output)
        return
    reasons = fill(known, paths, backbone, settings, workers)
    check_failures(reasons, paths, max_failed_fraction, failed or output.with_name("failed.csv"))
    write_store(output, paths, known, reasons, attributes_of(backbone, settings))
    log.info("%s: features of %d images, %d failed", output, len(paths) - len(reasons), len(reasons))


def extract(
    paths: Photographs,
    backbone: Backbone,
    settings: ExtractionSettings,
    cache: Path,
    output: Path,
    workers: int = 4,
) -> dict[str, str]:
    """Extract the features of photographs into a store; returns the reason of each that does not decode."""
    known = FeatureCache(cache, attributes_of(backbone, settings))
    reasons = fill(known, paths, backbone, settings, workers)
    write_store(output, paths, known, reasons, attributes_of(backbone, settings))
    return reasons


def write_store(
    output: Path,
    paths: Photographs,
    cache: FeatureCache,
    reasons: Mapping[str, str],
    attributes: Mapping[str, object],
) -> None:
    """Write the store of photographs whose features are in the cache; those with a reason have none."""
    images = [image for image in paths if image not in reasons]
    if not images:
        raise InputError(f"{output}: none of its {len(paths)} photographs can be decoded.")
    features = cache.features([photograph_key(image, paths[image]) for image in images])
    write_features(output, images, features, attributes, list(reasons))


def attributes_of(backbone: Backbone, settings: ExtractionSettings) -> dict[str, object]:
    """How the features are made, as the store records it."""
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
        "precision": backbone.precision,
        "dimension": backbone.dimension,
        "pooling": "mean over crops of the backbone's pooled features, float32",
        **{f"{library}_version": version(library) for library in ("torch", "torchvision", "timm", "pillow")},
    }


def fill(
    cache: FeatureCache, paths: Photographs, backbone: Backbone, settings: ExtractionSettings, workers: int
) -> dict[str, str]:
    """Add the features of photographs that the cache lacks; returns the reason of each that does not decode.

    Batches have fixed places in the list, and a batch is computed whole, so that a resumed run rounds like an
    uninterrupted one.
    """
    key_of = {image: photograph_key(image, path) for image, path in paths.items()}
    images = list(paths)
    batches = [images[start : start + backbone.batch] for start in range(0, len(images), backbone.batch)]
    missing = [batch for batch in batches if any(key_of[image] not in cache for image in batch)]
    if (done := len(paths) - sum(map(len, missing))) > 0:
        log.info("%d of %d images have been extracted before", done, len(paths))
    progress = Progress("images", len(paths), done)
    reasons: dict[str, str] = {}
    keys: list[str] = []
    block: list[Tensor] = []  # on the device: fetching features waits for the batch in the network
    saved = time.monotonic()
    for number, (batch, futures) in enumerate(_loaded(missing, paths, backbone, settings, workers), 1):
        readable = {}
        for image, future in zip(batch, futures, strict=True):
            try:
                readable[image] = future.result()
            except UnreadableImage as error:
                reasons[image] = str(error)
                log.warning("%s cannot be decoded: %s", paths[image], error)
        if readable:
            keys += [key_of[image] for image in readable]
            block.append(backbone.features(list(readable.values())))
        if number == len(missing) or time.monotonic() - saved > SECONDS_OF_A_BLOCK:
            if block:
                cache.add(keys, torch.cat(block).cpu().numpy())
            keys, block, saved = [], [], time.monotonic()
        progress.advance(len(batch))
    return reasons


def _loaded(
    batches: Iterable[list[str]],
    paths: Photographs,
    backbone: Backbone,
    settings: ExtractionSettings,
    workers: int,
) -> Iterator[tuple[list[str], list["Future[Tensor]"]]]:
    """Each batch with its resized images, while the next batches are being decoded."""

    def load(image: str) -> Tensor:
        pixels = resize_image(read_image(paths[image]), settings.resize, backbone.interpolation)
        if backbone.device.type == "cuda":
            pixels = pixels.permute(1, 2, 0).pin_memory().permute(2, 0, 1)  # copied without waiting
        return pixels

    most = 1 + max(1, 2 * workers // backbone.batch)
    ahead: deque[tuple[list[str], list[Future[Tensor]]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for batch in batches:
            ahead.append((batch, [pool.submit(load, image) for image in batch]))
            if len(ahead) == most:
                yield ahead.popleft()
        yield from ahead


def _shard(paths: Photographs, number: int, count: int) -> dict[str, Path]:
    """Part `number`, from 1, of `count` parts of a list; parts differ in size by one image at most."""
    begin, end = ((number - offset) * len(paths) // count for offset in (1, 0))
    return dict(list(paths.items())[begin:end])
