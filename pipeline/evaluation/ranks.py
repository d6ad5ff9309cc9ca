"""Ranks of the correct answers, in both directions, from tiles of the similarity matrix.

Nearer means a larger similarity. Ties must not improve ranks: rank = 1 + number of strictly nearer
candidates + number of equally near candidates with smaller indices.

A tile serves both directions: its rows are queries among images, its columns queries among sentences. The
similarity of a query to its correct answer must be known before anything is counted, so tiles that hold
correct answers are computed twice. Both times they have the same shape, since a library may round a product
of another shape differently. So the ranks are those of the whole similarity matrix (docs/internals.md).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from pipeline.common.errors import InputError
from pipeline.common.progress import with_progress

SENTENCES, IMAGES = 1024, 256  # rows and columns of a tile: 1 MB, which stays in a core's cache
LONG = 10_000  # tiles that take long enough to log progress

# (sentences, e) and (images, e) to (sentences, images); a pair's value must not depend on the other pairs.
Similarity = Callable[[Tensor, Tensor], Tensor]


def dot_products(sentences: Tensor, images: Tensor) -> Tensor:
    """Dot products (sentences, images); for unit vectors, ordered like cosine and Euclidean distance."""
    return sentences @ images.T


def both_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, similarity: Similarity = dot_products
) -> dict[str, Tensor]:
    """Ranks of the correct answers: `i2s` for each image with sentences, `s2i` for each sentence.

    Memory besides the embeddings: a few tiles, and some numbers per query.

    Args:
        images: (n, e). sentences: (B, e).
        image_of: (B,) row of each sentence's image. Any order is right; ascending is fastest.
        similarity: of a tile's sentences to its images.

    Returns:
        `i2s` (images with sentences,), the best rank of any of an image's sentences among all sentences, in
        order of the images' rows; `s2i` (B,), the rank of each sentence's image among all images. From 1.

    Raises:
        InputError: the embeddings hold values that are not finite.
    """
    if not torch.isfinite(images.sum() + sentences.sum()):
        raise InputError("Embeddings are not finite numbers: the training diverged. Lower its learning rate.")
    tiles = _Tiles(images, sentences, similarity)
    to_image = _Queries(_correct_similarities(tiles, image_of), image_of, image_of.cpu().numpy())
    to_sentence = _best_sentences(to_image, len(images))
    all_tiles = list(product(range(-(-len(sentences) // SENTENCES)), range(-(-len(images) // IMAGES))))
    values = tiles.at(all_tiles)
    if len(all_tiles) > LONG:
        values = with_progress(values, "tiles", len(all_tiles))
    for rows, columns, tile in values:
        to_image.count(tile, rows, columns)
        to_sentence.count(tile.T, columns, rows)
    with_answer = to_sentence.correct < torch.inf
    return {"i2s": to_sentence.ranks[with_answer], "s2i": to_image.ranks}


class _Tiles:
    """The similarity matrix (B, n), computed in tiles; the last tiles are padded to the same shape."""

    def __init__(self, images: Tensor, sentences: Tensor, similarity: Similarity):
        self.shape = len(sentences), len(images)
        self.sentences, self.images = _chunks(sentences, SENTENCES), _chunks(images, IMAGES)
        self.similarity = similarity

    def at(self, places: Iterable[tuple[int, int]]) -> Iterator[tuple[slice, slice, Tensor]]:
        """Sentences, images and similarities of the tiles at some rows and columns of tiles."""
        for row, column in places:
            rows = slice(row * SENTENCES, min((row + 1) * SENTENCES, self.shape[0]))
            columns = slice(column * IMAGES, min((column + 1) * IMAGES, self.shape[1]))
            tile = self.similarity(self.sentences[row], self.images[column])
            yield rows, columns, tile[: rows.stop - rows.start, : columns.stop - columns.start]


@dataclass
class _Queries:
    """Queries of one direction.

    correct: (Q,) similarity to the correct answer.
    answers: (Q,) its place among the candidates.
    on_host: `answers` in main memory, so that no tile waits for a device.
    ranks: (Q,) as far as they are counted.
    """

    correct: Tensor
    answers: Tensor
    on_host: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.ranks = torch.ones_like(self.answers)

    def count(self, similarity: Tensor, queries: slice, candidates: slice) -> None:
        """Add the candidates of a tile (queries, candidates) that rank before the correct answers."""
        correct, places = self.correct[queries, None], self.on_host[queries]
        if candidates.stop <= places.min():  # all correct answers are earlier
            is_nearer = similarity >= correct
        elif candidates.start > places.max():  # all correct answers are later
            is_nearer = similarity > correct
        else:
            place = torch.arange(candidates.start, candidates.stop, device=correct.device)
            earlier = place < self.answers[queries, None]
            is_nearer = (similarity > correct) | (earlier & (similarity == correct))
        self.ranks[queries] += is_nearer.sum(1, dtype=torch.int32)


def _chunks(vectors: Tensor, size: int) -> list[Tensor]:
    *full_chunks, last = vectors.split(size)
    return [*full_chunks, pad(last, (0, 0, 0, size - len(last)))]


def _correct_similarities(tiles: _Tiles, image_of: Tensor) -> Tensor:
    """(B,) similarity of each sentence to its own image."""
    correct = tiles.images[0].new_full(image_of.shape, torch.nan)
    across = len(tiles.images)
    rows = np.arange(len(image_of)) // SENTENCES
    places = np.unique(rows * across + image_of.cpu().numpy() // IMAGES)
    for sentences, images, tile in tiles.at(divmod(int(place), across) for place in places):
        column = image_of[sentences] - images.start
        in_tile = (column >= 0) & (column < tile.shape[1])
        values = tile.gather(1, column.clamp(0, tile.shape[1] - 1)[:, None])[:, 0]
        correct[sentences] = torch.where(in_tile, values, correct[sentences])
    return correct


def _best_sentences(sentences: _Queries, images: int) -> _Queries:
    """Each image as a query, whose answer is the nearest of its sentences, the first in case of ties.

    An image without sentences has an infinite similarity to its answer, so nothing ranks before it.
    """
    correct, image_of = sentences.correct, sentences.answers
    best = correct.new_full((images,), -torch.inf).scatter_reduce(0, image_of, correct, "amax")
    place = torch.arange(len(correct), device=correct.device)
    place = torch.where(correct == best[image_of], place, len(correct))
    answers = image_of.new_full((images,), len(correct)).scatter_reduce(0, image_of, place, "amin")
    best[answers == len(correct)] = torch.inf
    return _Queries(best, answers, answers.cpu().numpy())
