"""Ranks from tiles equal those of the whole matrix to the bit: ties, copies, odd sizes, one thread or two."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from reference.evaluation import ranks as stable_sort_ranks
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.evaluation import ranks
from pipeline.evaluation.ranks import both_ranks, dot_products

# Sizes around those of a tile, which are 1024 sentences and 256 images.
SIZES = [(1, 1), (7, 5), (255, 1023), (257, 1025), (600, 3001)]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """The library's product may divide its work differently with another number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def unit_vectors(generator: np.random.Generator, count: int, width: int) -> Tensor:
    vectors = torch.from_numpy(generator.normal(size=(count, width)).astype(np.float32))
    return torch.nn.functional.normalize(vectors, dim=1)


def embeddings(images: int, sentences: int, width: int = 37) -> tuple[Tensor, Tensor, Tensor]:
    """A third of the images and half of the sentences are copies of others; some images have no sentence."""
    generator = np.random.default_rng(images)
    left, right = unit_vectors(generator, images, width), unit_vectors(generator, sentences, width)
    left[::3] = left[0].clone()
    right[generator.integers(0, sentences, sentences // 2)] = right[-1].clone()
    right[::4] = left[generator.integers(0, images, len(right[::4]))]
    image_of = np.sort(generator.integers(0, images, sentences))
    return left, right, torch.from_numpy(image_of)


def whole_matrix(images: Tensor, sentences: Tensor) -> NDArray[np.float32]:
    """All similarities by one product; padded, because libraries treat very small matrices differently."""
    product = (
        torch.zeros(len(sentences) + 64, images.shape[1]),
        torch.zeros(len(images) + 64, images.shape[1]),
    )
    for padded, vectors in zip(product, (sentences, images), strict=True):
        padded[: len(vectors)] = vectors
    return dot_products(*product)[: len(sentences), : len(images)].numpy()


def sorted_ranks(similarity: NDArray[np.float32], image_of: Tensor) -> dict[str, list[int]]:
    to_sentence, to_image = stable_sort_ranks(similarity, image_of.numpy())
    return {"s2i": to_image, "i2s": to_sentence}


def as_lists(found: dict[str, Tensor]) -> dict[str, list[int]]:
    return {way: values.tolist() for way, values in found.items()}


@pytest.mark.parametrize("size", SIZES)
def test_ranks_equal_a_sort_of_one_whole_product(size: tuple[int, int], threads: int) -> None:
    images, sentences, image_of = embeddings(*size)
    expected = sorted_ranks(whole_matrix(images, sentences), image_of)
    assert as_lists(both_ranks(images, sentences, image_of)) == expected


def test_sentences_in_any_order_keep_their_ranks_except_for_ties(threads: int) -> None:
    images, sentences, image_of = embeddings(600, 3001)
    order = torch.randperm(3001, generator=torch.Generator().manual_seed(0))
    expected = sorted_ranks(whole_matrix(images, sentences[order]), image_of[order])
    assert as_lists(both_ranks(images, sentences[order], image_of[order])) == expected


@pytest.mark.parametrize("width", [3, 300, 513])
def test_copies_are_equally_near_wherever_they_are(width: int, threads: int) -> None:
    """Otherwise rounding would decide. 300 copies of one image, 3,000 of one sentence."""
    generator = np.random.default_rng(width)
    images = unit_vectors(generator, 1, width).expand(300, width).contiguous()
    sentences = unit_vectors(generator, 1, width).expand(3000, width).contiguous()
    image_of = torch.arange(300).repeat_interleave(10)
    found = both_ranks(images, sentences, image_of)
    assert found["s2i"].tolist() == (image_of + 1).tolist()
    assert found["i2s"].tolist() == list(range(1, 3001, 10))


def test_ranks_are_those_of_the_matrix_of_all_tiles() -> None:
    """Also where a pair's similarity depends on its place in the tile, as a library's product may."""
    images, sentences, image_of = embeddings(600, 3001)
    places = torch.linspace(0, 0.3, ranks.SENTENCES)[:, None] * torch.linspace(0, 1, ranks.IMAGES)

    def uneven_scores(some: Tensor, others: Tensor) -> Tensor:
        return dot_products(some, others) + places

    height, width = -(-3001 // ranks.SENTENCES), -(-600 // ranks.IMAGES)
    matrix = whole_matrix(images, sentences) + places.repeat(height, width)[:3001, :600].numpy()
    expected = sorted_ranks(matrix, image_of)
    assert as_lists(both_ranks(images, sentences, image_of, uneven_scores)) == expected


def test_another_similarity_gives_another_order() -> None:
    images, sentences = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [1.5]])

    def closeness(some: Tensor, others: Tensor) -> Tensor:
        return -torch.cdist(some, others)

    # 1.5 lies as near to 1 as to 2; the product prefers 2 for both.
    assert both_ranks(images, sentences, torch.tensor([0, 1]), closeness)["s2i"].tolist() == [1, 2]
    assert both_ranks(images, sentences, torch.tensor([0, 1]))["s2i"].tolist() == [2, 1]


def test_every_tile_is_computed_once_and_those_with_right_answers_twice() -> None:
    images, sentences, _ = embeddings(1000, 5000)
    image_of = torch.arange(1000).repeat_interleave(5)
    shapes = []

    def note(some: Tensor, others: Tensor) -> Tensor:
        shapes.append((len(some), len(others)))
        return dot_products(some, others)

    both_ranks(images, sentences, image_of, note)
    # 5 by 4 tiles. The images of a tile's 1,024 sentences, about 205, are in one or two tiles: 4 + 4 - 1
    # tiles have right answers, and 1 more in the 5th row of tiles, which ends in the last column.
    assert len(shapes) == 5 * 4 + 8
    assert set(shapes) == {(1024, 256)}


def test_a_diverged_model_has_no_ranks() -> None:
    """No number is nearer than NaN, so every rank would be 1."""
    images, sentences, image_of = embeddings(7, 5)
    images[3] = torch.nan
    with pytest.raises(InputError, match="not finite"):
        both_ranks(images, sentences, image_of)


@pytest.mark.extended
def test_memory_holds_no_more_than_tiles_and_numbers_of_each_query() -> None:
    """100,000 sentences to 4,000 images: 1.6 GB as a matrix, 0.4 GB as a mask."""
    source = """
import resource
import torch
from pipeline.evaluation.ranks import both_ranks
images, sentences = torch.rand(4000, 4), torch.rand(100_000, 4)
image_of = torch.arange(100_000) // 25
both_ranks(images, sentences[:3000], image_of[:3000])  # what the library itself takes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
both_ranks(images, sentences, image_of)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 50e6
