"""An index: embeddings of photographs, and of their captions if there are any, in one HDF5 file.

| dataset           | what                                                               |
|-------------------|--------------------------------------------------------------------|
| `images`          | (n,) id of each photograph                                         |
| `files`           | (n,) its path in the folder of photographs; empty if it has none   |
| `image_vectors`   | (n, e) float16, unit vectors                                       |
| `captions`        | (m,) texts                                                         |
| `languages`       | (m,) their languages                                               |
| `caption_images`  | (m,) row of each caption's photograph                              |
| `caption_vectors` | (m, e) float16, unit vectors                                       |

The attributes `model` and `photographs` are paths from the folder of the index, `model_digest` is the SHA-256
of the model's file.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.common.files import reading, require_file
from pipeline.common.hdf5 import create_hdf5

TEXTS = ("images", "files", "captions", "languages")
ARRAYS = ("image_vectors", "caption_images", "caption_vectors")
HINT = "Make it with `python -m pipeline build-index`."
BLOCK = 1024  # vectors compared at a time: 2 MB of float32 at 512 numbers

Compare = Callable[[Tensor, Tensor], Tensor]  # queries (Q, e) and vectors (b, e) to similarities (Q, b)


@dataclass(frozen=True)
class Index:
    """An index in memory; its fields are the datasets and attributes of the file."""

    images: list[str]
    files: list[str]
    image_vectors: NDArray[np.float16]
    model: Path
    model_digest: str
    photographs: Path | None
    captions: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    caption_images: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    caption_vectors: NDArray[np.float16] = field(default_factory=lambda: np.zeros((0, 0), np.float16))

    @functools.cached_property
    def rows(self) -> dict[str, int]:
        """Row of each image id."""
        return {image: row for row, image in enumerate(self.images)}

    def captions_of(self, row: int) -> list[int]:
        """Rows of the captions of the image in a row."""
        return [int(caption) for caption in np.flatnonzero(self.caption_images == row)]

    def file(self, image: str) -> Path | None:
        """The file of an image; None if there is no such image, or no file."""
        name = self.files[self.rows[image]] if image in self.rows else ""
        path = self.photographs / name if self.photographs and name else None
        return path if path and path.is_file() else None


def write_index(path: Path, index: Index) -> None:
    """Write an index, whole or not at all."""
    here, values = path.parent.resolve(), vars(index)
    with create_hdf5(path, index.image_vectors.nbytes + index.caption_vectors.nbytes) as file:
        for name in TEXTS:
            file.create_dataset(name, data=np.array(values[name], object), dtype=h5py.string_dtype())
        for name in ARRAYS:
            file[name] = values[name]
        file.attrs["model"] = os.path.relpath(index.model.resolve(), here)
        file.attrs["model_digest"] = index.model_digest
        if index.photographs:
            file.attrs["photographs"] = os.path.relpath(index.photographs.resolve(), here)


def open_index(path: str | Path, photographs: Path | None = None) -> Index:
    """Read an index.

    Args:
        photographs: their folder, if it is no longer where it was.

    Raises:
        InputError: the file is missing, damaged or no index.
    """
    path = require_file(Path(path), "the index", HINT)
    with reading(path, "an index of photographs", HINT), h5py.File(path) as file:
        values: dict[str, Any] = {name: list(file[name].asstr()[:]) for name in TEXTS}
        values |= {name: file[name][:] for name in ARRAYS}
        model, digest = path.parent / file.attrs["model"], file.attrs["model_digest"]
        if photographs is None and "photographs" in file.attrs:
            photographs = path.parent / file.attrs["photographs"]
        return Index(**values, model=model, model_digest=digest, photographs=photographs)


@dataclass(frozen=True)
class Neighbours:
    """The nearest neighbours of each query, nearest first.

    rows: (Q, k) int64 rows of the index. scores: (Q, k) float32 similarities.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


@torch.inference_mode()
def nearest(
    queries: NDArray[np.float32], vectors: NDArray[np.float16], top_k: int, compare: Compare
) -> Neighbours:
    """The nearest neighbours of queries (Q, e) among vectors (n, e); in a tie, the earlier row is nearer."""
    query, stored = torch.from_numpy(queries), torch.from_numpy(vectors)
    scores, rows = torch.empty(len(query), 0), torch.empty(len(query), 0, dtype=torch.int64)
    block = torch.empty(BLOCK, stored.shape[1])  # used again: new memory takes longer than the products
    for start in range(0, len(stored), BLOCK):
        part = stored[start : start + BLOCK]
        similarities = compare(query, block[: len(part)].copy_(part))  # (Q, b)
        numbers = torch.arange(start, start + similarities.shape[1]).expand_as(similarities)
        scores, rows = torch.cat([scores, similarities], 1), torch.cat([rows, numbers], 1)
        order = scores.argsort(dim=1, descending=True, stable=True)[:, :top_k]
        scores, rows = scores.gather(1, order), rows.gather(1, order)
    return Neighbours(rows.numpy(), scores.numpy())
