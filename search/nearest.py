"""The nearest of many vectors: exact, or by an approximate index where there are more than a million.

Vectors are kept in float16 in a memory-mapped file: half the disk, and only what is read takes memory. A
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
    import faiss

log = logging.getLogger("pipeline")

EXACT_UP_TO = 1_000_000  # vectors; beyond, the approximate index is made and asked
BLOCK = 4096  # vectors that are compared at a time: 8 MB of float32 at 512 numbers

# faiss' inverted lists: of what docs/search.md compares the fastest to build, and the same vectors give the
# same index. Its guidelines advise 4 to 16 sqrt(N) lists; sqrt(N) are built in a small part of the time, and
# a query still compares 3% of a million vectors alone.
LISTS, TRAINED_ON, PROBES = 1, 40, 32  # lists a sqrt(N), vectors a list to find them by, lists searched

# Queries (Q, e) and vectors (n, e), float32, to similarities (Q, n).
Compare = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Found:
    """The nearest of each query, nearest first.

    rows: (Q, k) int64 rows of the index. scores: (Q, k) float32 similarities.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


@torch.inference_mode()
def exact(vectors: NDArray[np.float16], queries: NDArray[np.float32], k: int, compare: Compare) -> Found:
    """The k nearest of each query among all vectors; of equally near ones the earlier row is nearer.

    Args:
        vectors: (n, e), perhaps memory-mapped, as copy-on-write (`c`). queries: (Q, e).
    """
    k = min(k, len(vectors))
    asked = torch.from_numpy(np.ascontiguousarray(queries, dtype=np.float32))
    scores, rows = torch.empty(len(asked), 0), torch.empty(len(asked), 0, dtype=torch.int64)
    stored = torch.from_numpy(vectors)
    # One piece of memory for all blocks: to get new memory from the system takes longer than the products.
    buffer = torch.empty(min(BLOCK, len(vectors)), vectors.shape[1])
    for begin in range(0, len(vectors), BLOCK):
        part = stored[begin : begin + BLOCK]
        block = buffer[: len(part)].copy_(part)
        similar = compare(asked, block)
        if scores.shape[1] == k and (similar <= scores[:, -1:]).all():
            continue
        best = [_best(one, min(k, len(block))) for one in similar]
        scores = torch.cat(
            [scores, torch.stack([one[near] for one, near in zip(similar, best, strict=True)])], 1
        )
        rows = torch.cat([rows, torch.stack(best) + begin], 1)
        # Earlier blocks stand first, so a stable sort leaves equals in the order of their rows.
        order = scores.argsort(dim=1, descending=True, stable=True)[:, :k]
        scores, rows = scores.gather(1, order), rows.gather(1, order)
    return Found(rows.numpy(), scores.numpy())


def _best(scores: Tensor, k: int) -> Tensor:
    """Places of the k largest of (n,) scores, of equals the earlier ones; in falling order."""
    least = scores.topk(k).values[-1]
    places = (scores >= least).nonzero()[:, 0]  # rising
    return places[scores[places].argsort(descending=True, stable=True)[:k]]


def build(vectors: NDArray[np.float16], path: Path, seed: int = 0) -> None:
    """Write an approximate index of unit vectors (n, e) by their cosine; the same for the same vectors."""
    faiss = _faiss()
    count = len(vectors)
    lists = max(1, int(LISTS * count**0.5))
    drawn = np.random.default_rng(seed).choice(count, min(count, TRAINED_ON * lists), replace=False)
    made = faiss.index_factory(vectors.shape[1], f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT)
    log.info("approximate index: %d lists of %d vectors", lists, count)
    made.train(vectors[np.sort(drawn)].astype(np.float32))
    for begin in range(0, count, BLOCK):
        made.add(vectors[begin : begin + BLOCK].astype(np.float32))
    with open(path, "wb") as file:  # given a path, faiss would say of a full disk what no message can name
        faiss.write_index(made, faiss.PyCallbackIOWriter(file.write))


def opened(path: Path) -> "faiss.Index":
    """An approximate index, memory-mapped."""
    faiss = _faiss()
    try:
        found = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
    except RuntimeError as error:
        raise InputError(f"{path}: not an approximate index ({error}). Index again.") from None
    found.nprobe = PROBES
    return found


def approximate(index: Any, queries: NDArray[np.float32], k: int) -> Found:
    """The k nearest of each query (Q, e) of unit length, most of them; fewer are filled up with row -1."""
    scores, rows = index.search(np.ascontiguousarray(queries, dtype=np.float32), min(k, index.ntotal))
    return Found(rows.astype(np.int64), scores)


def _faiss() -> Any:
    import faiss

    return faiss
