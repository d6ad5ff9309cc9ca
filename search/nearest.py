"""Nearest vectors: by exact search, or by an approximate index if there are more than a million.

Vectors are kept in float16 in a memory-mapped file: half the disk, and memory only for what is read. A
similarity of unit vectors differs from float32's by less than 0.001.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.common.errors import InputError

if TYPE_CHECKING:
    from faiss import Index

log = logging.getLogger("pipeline")

MAX_EXACT = 1_000_000  # vectors; with more, the approximate index is built and searched
BLOCK = 4096  # vectors compared at a time: 8 MB of float32 at 512 numbers

# faiss' inverted lists: the fastest to build of the indexes compared in benchmarks/README.md, and the same
# vectors give the same index. Its guidelines advise 4 to 16 sqrt(N) lists; sqrt(N) lists are built in a small
# part of the time, and a query still compares only 3% of a million vectors.
LISTS, TRAINED_ON, PROBES = 1, 40, 32  # lists per sqrt(N), vectors per list to find them by, lists searched

# Queries (Q, e) and vectors (n, e), float32, to similarities (Q, n).
Compare = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Neighbours:
    """The nearest neighbours of each query, nearest first.

    rows: (Q, k) int64 rows of the index. scores: (Q, k) float32 similarities.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


@torch.inference_mode()
def search_exact(
    vectors: NDArray[np.float16], queries: NDArray[np.float32], top_k: int, compare: Compare
) -> Neighbours:
    """The nearest neighbours of each query among all vectors; in a tie, the earlier row is nearer.

    Args:
        vectors: (n, e), perhaps memory-mapped, as copy-on-write (`c`). queries: (Q, e).
    """
    k = min(top_k, len(vectors))
    query = torch.from_numpy(np.ascontiguousarray(queries, dtype=np.float32))
    scores, rows = torch.empty(len(query), 0), torch.empty(len(query), 0, dtype=torch.int64)
    on_disk = torch.from_numpy(vectors)
    # One piece of memory for all blocks: to get new memory from the system takes longer than the products.
    buffer = torch.empty(min(BLOCK, len(vectors)), vectors.shape[1])
    for start in range(0, len(vectors), BLOCK):
        chunk = on_disk[start : start + BLOCK]
        block = buffer[: len(chunk)].copy_(chunk)
        similarities = compare(query, block)  # (Q, b)
        if scores.shape[1] == k and (similarities <= scores[:, -1:]).all():
            continue
        best = [_largest(line, min(k, len(block))) for line in similarities]
        largest = [line[places] for line, places in zip(similarities, best, strict=True)]
        scores = torch.cat([scores, torch.stack(largest)], 1)
        rows = torch.cat([rows, torch.stack(best) + start], 1)
        # Earlier blocks come first, so a stable sort leaves equal scores in the order of their rows.
        order = scores.argsort(dim=1, descending=True, stable=True)[:, :k]
        scores, rows = scores.gather(1, order), rows.gather(1, order)
    return Neighbours(rows.numpy(), scores.numpy())


def _largest(scores: Tensor, k: int) -> Tensor:
    """Places of the k largest of (n,) scores, in descending order; in a tie, the earlier places."""
    smallest = scores.topk(k).values[-1]
    places = (scores >= smallest).nonzero()[:, 0]  # in ascending order
    return places[scores[places].argsort(descending=True, stable=True)[:k]]


def build_approximate(vectors: NDArray[np.float16], path: Path, seed: int = 0) -> None:
    """Write an approximate index of unit vectors (n, e) by cosine; equal vectors give an equal index."""
    faiss = _faiss()
    count = len(vectors)
    lists = max(1, int(LISTS * count**0.5))
    sample = np.random.default_rng(seed).choice(count, min(count, TRAINED_ON * lists), replace=False)
    index = faiss.index_factory(vectors.shape[1], f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT)
    log.info("approximate index: %d lists of %d vectors", lists, count)
    index.train(vectors[np.sort(sample)].astype(np.float32))
    for start in range(0, count, BLOCK):
        index.add(vectors[start : start + BLOCK].astype(np.float32))
    with open(path, "wb") as file:  # given a path, faiss would report a full disk without its file's name
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))


def open_approximate(path: Path) -> "Index":
    """A memory-mapped approximate index."""
    faiss = _faiss()
    try:
        index: Index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
    except RuntimeError as error:
        raise InputError(f"{path}: not an approximate index ({error}). Build the index again.") from None
    index.nprobe = PROBES  # type: ignore[attr-defined] # of an inverted index
    return index


def search_approximate(index: "Index", queries: NDArray[np.float32], top_k: int) -> Neighbours:
    """Most of the nearest neighbours of each query (Q, e) of unit length; row -1 where there are fewer."""
    scores, rows = index.search(np.ascontiguousarray(queries, dtype=np.float32), min(top_k, index.ntotal))
    return Neighbours(rows.astype(np.int64), scores)


def _faiss() -> Any:
    import faiss

    return faiss
