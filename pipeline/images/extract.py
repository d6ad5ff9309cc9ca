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

import numpy as np
import torch
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.common.progress import Progress
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.cache import FeatureCache
from pipeline.images.crops import UnreadableImage
from pipeline.images.lists import Photograph, check_failures, read_photographs
from pipeline.images.settings import ExtractionSettings, weights_name
from pipeline.images.store import write_features

log = logging.getLogger("pipeline")

SECONDS_OF_A_BLOCK = 30.0  # of work that a kill may cost

Photographs = Mapping[str, Photograph]  # of each image


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
        max_failed_fraction: fraction of the images that may fail.
        code: digest of the code of this stage.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        # Otherwise each decoding thread starts its own team of threads to copy an image.
        torch.set_num_threads(1)
    elif threads:
        torch.set_num_threads(threads)
    photographs = read_photographs(images)
    backbone = load_backbone(settings, device, min(batch_size, len(photographs)))
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    log.info("extracting on %s in %s, %d images per batch", name, backbone.settings.precision, backbone.batch)
    attributes = attributes_of(backbone)
    known = FeatureCache(cache, {**attributes, "code": code})
    number, _, count = shard.partition("-of-")
    if count != "1":
        begin, end = ((int(number) - offset) * len(photographs) // int(count) for offset in (1, 0))
        part = dict(list(photographs.items())[begin:end])
        check_failures(fill(known, part, backbone, workers), part, 1.0, output)
        return
    reasons = fill(known, photographs, backbone, workers)
    check_failures(reasons, photographs, max_failed_fraction, failed or output.with_name("failed.csv"))
    write_store(output, photographs, known, reasons, attributes)
    log.info("%s: features of %d images", output, len(photographs) - len(reasons))


def write_store(
    output: Path,
    photographs: Photographs,
    cache: FeatureCache,
    reasons: Mapping[str, str],
    attributes: Mapping[str, object],
) -> None:
    """Write the store of photographs whose features are in the cache; those with a reason have none."""
    images = [image for image in photographs if image not in reasons]
    if not images:
        raise InputError(f"{output}: none of its {len(photographs)} photographs can be decoded.")
    features = np.stack([cache.rows[photographs[image].key] for image in images])
    write_features(output, images, features, attributes, list(reasons))


def attributes_of(backbone: Backbone) -> dict[str, object]:
    """How the features are made, as the store records it."""
    return {
        **backbone.settings.as_values(),
        "weights": weights_name(backbone.settings.weights),
        "weights_sha256": backbone.weights_sha256,
        "interpolation": backbone.interpolation,
        "mean": backbone.mean,
        "std": backbone.std,
        "pooling": "mean over crops of the backbone's pooled features, float32",
        **{f"{library}_version": version(library) for library in ("torch", "torchvision", "timm", "pillow")},
    }


def fill(cache: FeatureCache, photographs: Photographs, backbone: Backbone, workers: int) -> dict[str, str]:
    """Add the features of photographs that the cache lacks; returns the reason of each that does not decode.

    Batches have fixed places in the list, and a batch is computed whole, so that a resumed run rounds like an
    uninterrupted one.
    """
    images = list(photographs)
    batches = [images[start : start + backbone.batch] for start in range(0, len(images), backbone.batch)]
    missing = [batch for batch in batches if any(photographs[image].key not in cache.rows for image in batch)]
    if (done := len(images) - sum(map(len, missing))) > 0:
        log.info("%d of %d images have been extracted before", done, len(images))
    progress = Progress("images", len(images), done)
    reasons: dict[str, str] = {}
    keys: list[str] = []
    block: list[Tensor] = []  # on the device: fetching features waits for the batch in the network
    saved = time.monotonic()
    for number, (batch, futures) in enumerate(_loaded(missing, photographs, backbone, workers), 1):
        readable = {}
        for image, future in zip(batch, futures, strict=True):
            try:
                readable[image] = future.result()
            except UnreadableImage as error:
                reasons[image] = str(error)
        if readable:
            keys += [photographs[image].key for image in readable]
            block.append(backbone.features(list(readable.values())))
        if number == len(missing) or time.monotonic() - saved > SECONDS_OF_A_BLOCK:
            if block:
                cache.add(keys, torch.cat(block).cpu().numpy())
            keys, block, saved = [], [], time.monotonic()
        progress.advance(len(batch))
    return reasons


def _loaded(
    batches: Iterable[list[str]], photographs: Photographs, backbone: Backbone, workers: int
) -> Iterator[tuple[list[str], list["Future[Tensor]"]]]:
    """Each batch with its resized images, while the next batches are being decoded."""

    def load(image: str) -> Tensor:
        pixels = backbone.resized(photographs[image].path)
        if backbone.pixels.is_cuda:
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
