"""Building an index of photographs and captions, or bringing an earlier one up to date."""

import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.common.photographs import photographs_below
from pipeline.datasets.captions import COLUMNS
from pipeline.datasets.split import image_name
from pipeline.datasets.table import read_captions
from pipeline.images.cache import FeatureCache
from pipeline.images.extract import fill
from pipeline.images.lists import Photograph, read_image_list
from pipeline.images.settings import expected_attributes
from pipeline.images.store import read_features, read_store
from search.index import Index, write_index
from search.model import SearchModel, load

log = logging.getLogger("pipeline")

CROPS = 10  # in one pass; more memory at a time takes longer to get from the system than to compute


def build_index(
    model: Path,
    output: Path,
    photographs: Path | None = None,
    features: Path | None = None,
    images: Path | None = None,
    captions: Sequence[Path] = (),
    split: Literal["all", "train", "val", "test"] = "all",
    workers: int = 2,
    device: Literal["cpu", "cuda"] = "cpu",
) -> None:
    """Embed photographs and captions for searching.

    A second call reads only photographs that are new or changed.

    Args:
        model: the trained model, a model.pt.
        output: index to write (HDF5), next to a folder of the photographs' features.
        photographs: folder of photographs.
        features: feature store, in place of photographs.
        images: with --features, the output of `find-images`: the photographs to show.
        captions: caption tables.
        split: index only the images with captions of this split.
        workers: threads that decode and resize.
        device: device of the model.

    Raises:
        InputError: there is no image to index, captions are in languages that the model does not read, or the
            features come from another network or other crops than the model was trained on.
    """
    search_model = load(model, device)
    table = _caption_table(captions, split)
    if photographs and not features:
        if not (found := photographs_below(photographs)):
            raise InputError(f"{photographs}: no photographs in it. Give the folder of the photographs.")
        selected = _selected(found, table, split)
        index = _index_of_photographs(search_model, photographs, selected, output, workers)
    elif features and not photographs:
        files = read_image_list(images) if images else {}
        index = _index_of_features(search_model, features, files, table, split)
    else:
        raise InputError("build-index: give either --photographs or --features.")
    index = _with_captions(index, table, search_model)
    write_index(output, index)
    log.info("%s: %d images, %d captions", output, len(index.images), len(index.captions))


def ids_by_name(images: Iterable[str]) -> dict[str, str]:
    """The ids of images by their names, without folder and ending, as captions have them.

    Raises:
        InputError: several images have one name; lists every such name.
    """
    ids = defaultdict(list)
    for image in images:
        ids[image_name(image)].append(image)
    several = (f"{name}: {', '.join(same)}" for name, same in ids.items() if len(same) > 1)
    raise_together(several, "Captions cannot tell photographs of one name apart. Rename all but one:")
    return {name: same[0] for name, same in ids.items()}


def _caption_table(captions: Sequence[Path], split: str) -> pd.DataFrame:
    if not captions:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.concat([read_captions(path) for path in captions], ignore_index=True)
    return table if split == "all" else table[table["split"] == split]


def _selected(images: Sequence[str], table: pd.DataFrame, split: str) -> list[str]:
    """The images to index, in their order: all, or those with a caption of the split."""
    if split == "all":
        return list(images)
    names = set(table["image"].map(image_name))
    if selected := [image for image in images if image_name(image) in names]:
        return selected
    raise InputError(f"--split {split}: no image has a caption of this split. Give its caption tables.")


def _index_of_photographs(
    model: SearchModel, folder: Path, images: Sequence[str], output: Path, workers: int
) -> Index:
    """The photographs of a folder that decode; their features are kept in a cache next to the index."""
    status = {image: (folder / image).stat() for image in images}
    photographs = {
        image: Photograph(folder / image, f"{image} {each.st_size} {each.st_mtime_ns}")
        for image, each in status.items()
    }
    backbone = model.backbone(CROPS)
    cache = FeatureCache(output.with_name(f"{output.stem}-features"), model.record.features)
    reasons = fill(cache, photographs, backbone, workers)
    for image, reason in reasons.items():
        log.warning("%s cannot be decoded and is left out: %s", folder / image, reason)
    if not (readable := [image for image in images if image not in reasons]):
        raise InputError(f"{folder}: none of its photographs can be decoded.")
    features = np.stack([cache.rows[photographs[image].key] for image in readable])
    vectors = model.embed_features(features).astype(np.float16)
    return Index(readable, readable, vectors, model.path, model.digest, folder)


def _index_of_features(
    model: SearchModel, store: Path, files: Mapping[str, Path], table: pd.DataFrame, split: str
) -> Index:
    """The images with features; `files` are their photographs, as far as there are any."""
    ids, _, _ = read_store(store)
    images = _selected(ids, table, split)
    expected = expected_attributes(model.record.settings.features)
    vectors = model.embed_features(read_features(store, images, expected))
    parents = {str(files[image].resolve().parent) for image in images if image in files}
    folder = Path(os.path.commonpath(parents)) if parents else None
    names = [os.path.relpath(files[image].resolve(), folder) if image in files else "" for image in images]
    return Index(images, names, vectors.astype(np.float16), model.path, model.digest, folder)


def _with_captions(index: Index, table: pd.DataFrame, model: SearchModel) -> Index:
    """An index with the captions of its images."""
    if table.empty:
        return index
    ids = table["image"].map(image_name).map(ids_by_name(index.images))
    of_images = table.assign(row=ids.map(index.rows)).dropna(subset="row").reset_index(drop=True)
    if left_out := len(table) - len(of_images):
        log.info("%d of %d captions are of images that are not indexed", left_out, len(table))
    vectors = np.zeros((len(of_images), model.size), np.float16)
    for language, rows in of_images.groupby("language", sort=False):
        vectors[rows.index] = model.embed_sentences(list(rows["caption"]), str(language))
    return replace(
        index,
        captions=list(of_images["caption"]),
        languages=list(of_images["language"]),
        caption_images=of_images["row"].to_numpy(np.int64),
        caption_vectors=vectors,
    )
