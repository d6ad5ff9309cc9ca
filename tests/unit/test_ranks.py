"""Ranks equal those of a stable sort of the whole matrix: ties, copies, odd sizes, one thread or two."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.evaluation import ranks as stable_sort_ranks
from reference.losses import similarities

from pipeline.common.errors import InputError
from pipeline.evaluation import ranks
from pipeline.evaluation.ranks import both_ranks


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """The library's product may divide its work differently with another number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def assert_as_sorted(
    images: torch.Tensor, sentences: torch.Tensor, image_of: torch.Tensor, kind: str = "cosine"
) -> None:
    matrix = similarities(sentences.double(), images.double(), kind).numpy()
    to_sentence, to_image = stable_sort_ranks(matrix, image_of.numpy())
    found = both_ranks(images, sentences, image_of, kind)
    assert (found["i2s"].tolist(), found["s2i"].tolist()) == (to_sentence, to_image)


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 60), st.sampled_from([1, 70, 2**22]))
@pytest.mark.parametrize("kind", ["cosine", "order"])
@settings(max_examples=60, deadline=None)
def test_ranks_equal_a_stable_sort(kind: str, seed: int, images: int, captions: int, pairs: int) -> None:
    """In blocks of any size; images without sentences are candidates, and sentences come in any order."""
    generator = np.random.default_rng(seed)
    # Small whole numbers: many ties, and sums that float32 holds exactly.
    left = torch.tensor(generator.integers(-2, 3, (images, 3)), dtype=torch.float)
    right = torch.tensor(generator.integers(-2, 3, (captions, 3)), dtype=torch.float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "PAIRS", pairs)
        assert_as_sorted(left, right, torch.tensor(generator.integers(0, images, captions)), kind)


@pytest.mark.parametrize(("images", "sentences"), [(1, 1), (257, 1025), (1000, 5001)])
def test_ranks_of_several_blocks(images: int, sentences: int, threads: int) -> None:
    generator = np.random.default_rng(images)
    left, right = (
        torch.tensor(generator.integers(-9, 10, (count, 37)), dtype=torch.float)
        for count in (images, sentences)
    )
    left[::3], right[::4] = left[0].clone(), left[generator.integers(0, images, len(right[::4]))]
    assert_as_sorted(left, right, torch.tensor(np.sort(generator.integers(0, images, sentences))))


@pytest.mark.parametrize("width", [3, 300, 513])
def test_copies_are_equally_near_wherever_they_are(width: int, threads: int) -> None:
    """Otherwise rounding would decide. 300 copies of one image, 3,000 of one sentence."""
    torch.manual_seed(width)
    images, sentences = torch.randn(1, width).repeat(300, 1), torch.randn(1, width).repeat(3000, 1)
    image_of = torch.arange(300).repeat_interleave(10)
    found = both_ranks(images, sentences, image_of)
    assert found["s2i"].tolist() == (image_of + 1).tolist()
    assert found["i2s"].tolist() == list(range(1, 3001, 10))


def test_a_diverged_model_has_no_ranks() -> None:
    """No number is nearer than NaN, so every rank would be 1."""
    images = torch.eye(7)
    images[3] = torch.nan
    with pytest.raises(InputError, match="not finite"):
        both_ranks(images, torch.eye(7), torch.arange(7))


def test_memory_holds_no_more_than_blocks_and_numbers_of_each_query() -> None:
    """50,000 sentences to 4,000 images: 0.8 GB as a matrix, 0.2 GB as a mask."""
    source = """
import resource
import torch
from pipeline.evaluation.ranks import both_ranks
images, sentences = torch.rand(4000, 4), torch.rand(50_000, 4)
image_of = torch.arange(50_000) // 25
both_ranks(images, sentences[:3000], image_of[:3000])  # what the library itself takes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
both_ranks(images, sentences, image_of)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 150e6
