"""Extraction: every photograph of a list through the backbone.

Reader (threads that decode and resize), mapper (the network), writer (a thread) and logger are separate. The
time that the mapper waits for each of them is logged at the end. Memory does not grow with the number of
images.
"""

import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.common.progress import Progress, duration
from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.crops import ON_WHITE, UnreadableImage, read_image, resize_image
from pipeline.images.lists import (
    FAILED_COLUMNS,
    Shard,
    allowed_failures,
    check_failures,
    identity,
    read_image_list,
    write_table,
)
from pipeline.images.partial import PartialStore, finish, open_partial
from pipeline.images.settings import ExtractionSettings, weights_name
from pipeline.images.store import PENDING

log = logging.getLogger("pipeline")

BATCHES_TO_MEASURE = 3  # batches after which the time is estimated

Batch = list[int]  # rows of the store
ImageFutures = list["Future[Tensor]"]


@dataclass
class Clock:
    """Seconds that were spent on each kind of work."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count the time of a block."""
        start = time.perf_counter()
        yield
        self.seconds[what] += time.perf_counter() - start

    def shares(self, *things: str) -> str:
        """Share of each kind of work in all seconds."""
        whole = max(sum(self.seconds[what] for what in things), 1e-9)
        return ", ".join(f"{100 * self.seconds[what] / whole:.1f}% {what}" for what in things)


def extract_features(
    images: Path,
    settings: ExtractionSettings,
    output: Path,
    failed: Path,
    partial: Path | None = None,
    reuse_from: Path | None = None,
    shard: Shard | None = None,
    batch_size: int = 8,
    workers: int = 4,
    threads: int | None = None,
    compile: bool = False,
    max_failed_fraction: float = 0.0,
    gpus: int = 0,
    code: str = "",
) -> None:
    """Extract the features of the images of a list.

    Args:
        images: output of `find-images`.
        settings: JSON: backbone, weights, resize, crop, crops, ... (pipeline/images/settings.py).
        output: feature store to write (HDF5).
        failed: list to write, of the images that failed (CSV).
        partial: store of an unfinished run, which the next one resumes; default: OUTPUT.partial.
        reuse_from: finished store (`merge-features --hard-link`) whose rows are reused.
        shard: I/N: extract only part I of N, such as 1/8.
        batch_size: images per forward pass, each with all its crops.
        workers: threads that decode and resize.
        threads: threads of the network on a CPU; default: all.
        compile: use torch.compile, on a GPU.
        max_failed_fraction: fraction of the images that may fail.
        gpus: GPUs that were requested.
        code: digest of the code of this stage.
    """
    paths = read_image_list(images)
    max_failures = allowed_failures(max_failed_fraction, len(paths))
    if shard:
        paths = {image: paths[image] for image in shard.of(list(paths))}
    if not paths:
        raise InputError(f"{images}: has fewer images than shards. Set images.shards to a smaller number.")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        # Otherwise each decoding thread starts its own team of threads to copy an image.
        torch.set_num_threads(1)
    elif threads:
        torch.set_num_threads(threads)
    batch = min(batch_size, len(paths))
    backbone = load_backbone(settings, device, batch, compile)
    cpu = f"the CPU, {torch.get_num_threads()} threads"
    name = torch.cuda.get_device_name() if device.type == "cuda" else cpu
    log.info("extracting on %s in %s, %d images per batch", name, backbone.precision, batch)
    extract(
        paths,
        backbone,
        settings,
        partial or output.with_name(f"{output.name}.partial"),
        output,
        failed,
        workers=workers,
        failures_allowed=max_failures,
        gpu_missed=gpus > 0 and device.type == "cpu",
        earlier=reuse_from,
        code=code,
    )


def extract(
    paths: Mapping[str, Path],
    backbone: Backbone,
    settings: ExtractionSettings,
    partial: Path,
    output: Path,
    failed: Path,
    workers: int = 4,
    failures_allowed: int = 0,
    gpu_missed: bool = False,
    earlier: Path | None = None,
    code: str = "",
) -> None:
    """Extract features of `paths` (image id to file) into the store `output`.

    The store is written at `partial` and moved to `output` when it is complete: a killed run resumes from
    `partial`. It starts with rows of the finished store `earlier`, if it has the same images and was made
    with the same settings, weights, libraries and code.

    Args:
        failed: CSV of the images that do not decode, with the reason; the store has no features of them.
        workers: threads that decode and resize.
        failures_allowed: how many images may fail.
        gpu_missed: a GPU was requested but not found, so the estimated time is logged as a warning.
        code: digest of the code of this stage.

    Raises:
        InputError: more images failed than allowed. Features of the others are kept in `partial`.
    """
    attributes = {**attributes_of(backbone, settings), "code": code}
    names = list(paths)
    files = np.array([identity(path) for path in paths.values()], np.int64).reshape(-1, 2)
    start = time.monotonic()
    with open_partial(partial, names, files, attributes, backbone.dimension, earlier) as store:
        extraction = _Extraction(list(paths.values()), backbone, settings, store, workers)
        reasons = extraction.run(logging.WARNING if gpu_missed else logging.INFO)
        rows = [(names[row], str(paths[names[row]]), reason) for row, reason in sorted(reasons.items())]
        beside = partial.with_name(f"{partial.name}.failed.csv")
        check_failures(rows, failures_allowed, len(paths), beside)
        write_table(failed, FAILED_COLUMNS, rows)
        finish(store, partial, output)
    beside.unlink(missing_ok=True)
    log.info(
        "%s: features of %d images, %d dimensions, %d images failed, in %s",
        output,
        len(paths) - len(rows),
        backbone.dimension,
        len(rows),
        duration(time.monotonic() - start),
    )


def attributes_of(backbone: Backbone, settings: ExtractionSettings) -> dict[str, object]:
    """How the features are made, as the store records it."""
    pooling = {
        "exact": "mean over crops of the backbone's pooled features, float32",
        "dense": "mean over the crops of the backbone's feature map of the whole image, float32",
    }
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
        "crop_evaluation": settings.crop_evaluation,
        "dimension": backbone.dimension,
        "pooling": pooling[settings.crop_evaluation],
        **{f"{library}_version": version(library) for library in ("torch", "torchvision", "timm", "pillow")},
    }


class _Extraction:
    """One run over the images that a store still lacks.

    Every run forms the same batches, so that a resumed run rounds like an uninterrupted one. Single missing
    images between finished ones form separate batches.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        backbone: Backbone,
        settings: ExtractionSettings,
        store: PartialStore,
        workers: int,
    ):
        self.paths, self.backbone, self.store, self.workers = paths, backbone, store, workers
        self.resize = settings.resize
        self.mapper, self.writer = Clock(), Clock()
        self.reasons: dict[int, str] = {}
        self.on_white: set[int] = set()

    def run(self, estimate_level: int) -> dict[int, str]:
        """Fill the store, and return the reason for each row whose image could not be read."""
        count = len(self.paths)
        missing = self._missing()
        to_do = sum(map(len, missing))
        self.progress = Progress("images", count, done=count - to_do)
        start = time.monotonic()
        with ThreadPoolExecutor(1) as writer:
            write = writer.submit(self._write, [], np.zeros((0, self.backbone.dimension)))
            for number, (rows, features) in enumerate(self._features(missing), 1):
                with self.mapper.on("waiting for the disk"):
                    write.result()  # a killed process loses only this batch and the batch in the network
                write = writer.submit(self._write, rows, features)
                if number == BATCHES_TO_MEASURE:
                    each = (time.monotonic() - start) / BATCHES_TO_MEASURE
                    log.log(estimate_level, "about %s for %d images", duration(each * len(missing)), to_do)
            write.result()
        if self.on_white:
            log.info("%d of %d images have transparent parts, read as on white", len(self.on_white), to_do)
        if to_do:
            waits = self.mapper.shares("waiting for images", "in the network", "waiting for the disk")
            share_writing = self.writer.seconds["writing"] / max(time.monotonic() - start, 1e-9)
            log.info("time: %s; in parallel, %.1f%% writing", waits, 100 * share_writing)
        return self.reasons

    def _missing(self) -> list[Batch]:
        """Batches of the rows that are still to come."""
        size, pending = self.backbone.batch, self.store.done == PENDING
        every = [
            list(range(begin, min(begin + size, len(pending)))) for begin in range(0, len(pending), size)
        ]
        whole = [rows for rows in every if pending[rows].all()]
        single = [row for rows in every if not pending[rows].all() for row in rows if pending[row]]
        return [*whole, *(single[begin : begin + size] for begin in range(0, len(single), size))]

    def _features(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, np.ndarray]]:
        """Rows that could be read, and their features."""
        # So the GPU has its next batch before it is idle.
        depth = 2 if self.backbone.device.type == "cuda" else 1
        under_way: deque[tuple[Batch, Callable[[], np.ndarray]]] = deque()
        for rows, futures in self._load_batches(batches):
            with self.mapper.on("waiting for images"):
                images = self._readable(rows, futures)
            if images:
                with self.mapper.on("in the network"):
                    features = self.backbone.features(list(images.values()))
                    under_way.append((list(images), _start_copy(features)))
            if len(under_way) == depth:
                yield self._fetch(*under_way.popleft())
        while under_way:
            yield self._fetch(*under_way.popleft())

    def _fetch(self, rows: Batch, features: Callable[[], np.ndarray]) -> tuple[Batch, np.ndarray]:
        with self.mapper.on("in the network"):
            return rows, features()

    def _load_batches(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, ImageFutures]]:
        """Yield each batch with its images, while the next batches are being decoded."""
        most = 1 + max(1, 2 * self.workers // self.backbone.batch)
        ahead: deque[tuple[Batch, ImageFutures]] = deque()
        with ThreadPoolExecutor(self.workers) as pool:
            for rows in batches:
                ahead.append((rows, [pool.submit(self._load, row) for row in rows]))
                if len(ahead) == most:
                    yield ahead.popleft()
            while ahead:
                yield ahead.popleft()

    def _load(self, row: int) -> Tensor:
        read = read_image(self.paths[row])
        if ON_WHITE in read.info:
            self.on_white.add(row)
        image = resize_image(read, self.resize, self.backbone.interpolation)
        if self.backbone.device.type == "cuda":
            image = image.permute(1, 2, 0).pin_memory().permute(2, 0, 1)  # copied without waiting
        return image

    def _readable(self, rows: Batch, futures: ImageFutures) -> dict[int, Tensor]:
        images = {}
        for row, future in zip(rows, futures, strict=True):
            try:
                images[row] = future.result()
            except UnreadableImage as error:
                self.reasons[row] = str(error)
                log.warning("%s cannot be decoded: %s", self.paths[row], error)
                self.progress.advance()
        return images

    def _write(self, rows: Batch, features: np.ndarray) -> None:
        with self.writer.on("writing"):
            self.store.write(rows, features)
        self.progress.advance(len(rows))


def _start_copy(features: Tensor) -> Callable[[], np.ndarray]:
    """Start copying features into main memory; the returned function waits only for this copy.

    A plain copy would queue behind the next batch on a GPU, and leave the GPU idle when it returns.
    """
    if features.device.type != "cuda":
        return features.numpy
    copied = features.to("cpu", non_blocking=True)  # pinned
    done = torch.cuda.Event(blocking=True)
    done.record()

    def waited() -> np.ndarray:
        done.synchronize()
        return copied.numpy()

    return waited
