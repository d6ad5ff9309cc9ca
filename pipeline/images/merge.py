"""Merging the stores of all shards into one store, which is checked to be complete."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write, link_or_copy
from pipeline.common.hdf5 import update_hdf5
from pipeline.images.lists import (
    FAILED_COLUMNS,
    MAX_SHOWN,
    NAMES,
    allowed_failures,
    check_failures,
    read_image_list,
    write_table,
)
from pipeline.images.partial import PartialStore, attribute_differences, copy_rows, create
from pipeline.images.store import FAILED, PENDING, failed_images, store_images


def merge_features(
    shards: Sequence[Path],
    failed: Sequence[Path],
    images: Path,
    output: Path,
    failed_output: Path,
    hard_link: Path | None = None,
    max_failed_fraction: float = 0.0,
) -> None:
    """Merge the feature stores of all shards into one.

    Args:
        shards: feature stores of the shards.
        failed: their lists of failed images (CSV).
        images: output of `find-images`.
        output: feature store to write (HDF5).
        failed_output: list of all failed images, to write (CSV).
        hard_link: hard link to create to the store, for `extract-features --reuse-from`; takes no disk space.
        max_failed_fraction: fraction of the images that may fail.
    """
    ids = list(read_image_list(images))
    max_failures = allowed_failures(max_failed_fraction, len(ids))
    merge(shards, ids, failed, max_failures, output, failed_output, hard_link)


def merge(
    shards: Sequence[Path],
    images: Sequence[str],
    failed: Sequence[Path],
    failures_allowed: int,
    output: Path,
    failed_output: Path,
    keep: Path | None = None,
) -> None:
    """Write the features of `images` from the stores of all shards to the store `output`.

    Args:
        failed: lists of failed images (CSV), one per shard. failed_output: the list of all failed images.
        keep: a hard link to the same file, which remains if `output` is deleted (`extract`, `earlier`).

    Raises:
        InputError: the shards were made differently, are unfinished, lack images or have others, or more
            images failed than allowed.
    """
    reasons = [row for path in failed for row in _failed_rows(path)]
    _check(shards, images, {row[0] for row in reasons})
    check_failures(reasons, failures_allowed, len(images), output.with_name(f"{output.stem}.failed.csv"))
    if len(shards) == 1:
        link_or_copy(shards[0], output)
    else:
        with atomic_write(output) as temporary:
            _put_together(shards, images, temporary, len(reasons))
    if keep is not None:
        link_or_copy(output, keep)
    write_table(failed_output, FAILED_COLUMNS, reasons)


def _put_together(shards: Sequence[Path], images: Sequence[str], path: Path, failures: int) -> None:
    with h5py.File(shards[0]) as first:
        attributes, dimension = dict(first.attrs), first["features"].shape[1]
    create(path, images, np.zeros((len(images), 2), np.int64), attributes, dimension)
    with update_hdf5(path) as file:
        whole = PartialStore(file)
        for shard in shards:
            with h5py.File(shard) as part:
                copy_rows(PartialStore(part), whole)
        whole.mark(whole.done == PENDING, FAILED)
        if int((whole.done == FAILED).sum()) != failures:
            raise InputError(f"{', '.join(map(str, shards))}: damaged rows. Extract the shards again.")


def _check(shards: Sequence[Path], images: Sequence[str], with_reason: set[str]) -> None:
    counts: Counter[str] = Counter()
    mistakes: list[str] = []
    attributes = None
    for shard in shards:
        lost = sorted(failed_images(shard) - with_reason)  # raises for an unfinished store
        mistakes += [f"{shard}: {image} failed, but no list of failed images names it" for image in lost]
        with h5py.File(shard) as file:
            counts.update(store_images(file))
            attributes_of_shard = dict(file.attrs)
        attributes = attributes or attributes_of_shard
        mistakes += [f"{shard}: {each}" for each in attribute_differences(attributes_of_shard, attributes)]
    ids = set(images)
    mistakes += [f"{image}: in no shard" for image in images if image not in counts]
    mistakes += [f"{image}: not in the list of images" for image in counts if image not in ids]
    mistakes += [f"{image}: in {count} shards" for image, count in counts.items() if count > 1]
    raise_together(
        mistakes[:MAX_SHOWN],
        f"The shards do not make one store; extract them with the same list and settings: {len(mistakes)} "
        f"mistakes{f', first {MAX_SHOWN}' if len(mistakes) > MAX_SHOWN else ''}:",
    )


def _failed_rows(path: Path) -> list[tuple[str, str, str]]:
    with open(path, encoding="utf-8", errors=NAMES, newline="") as file:
        rows = csv.DictReader(file)
        return [(row["image"], row["path"], row["reason"]) for row in rows]
