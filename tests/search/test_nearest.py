"""The nearest vectors against a plain full sort."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from search import nearest


def dot(queries: Tensor, vectors: Tensor) -> Tensor:
    return queries @ vectors.T


def test_a_case_by_hand() -> None:
    vectors = np.array([[0, 1], [1, 0], [0.6, 0.8], [0.8, 0.6]], np.float16)
    found = nearest.search_exact(vectors, np.array([[1, 0], [0, 1]], np.float32), 3, dot)
    assert found.rows.tolist() == [[1, 3, 2], [0, 2, 3]]
    np.testing.assert_allclose(found.scores, [[1, 0.8, 0.6], [1, 0.8, 0.6]], atol=1e-3)


def test_more_neighbours_are_requested_than_exist() -> None:
    found = nearest.search_exact(np.eye(2, dtype=np.float16), np.eye(2, dtype=np.float32), 10, dot)
    assert found.rows.tolist() == [[0, 1], [1, 0]]


@given(
    st.integers(1, 40), st.integers(1, 5), st.integers(1, 50), st.integers(1, 9), st.integers(0, 2**32 - 1)
)
def test_neighbours_are_those_of_a_stable_sort(
    count: int, queries: int, k: int, block: int, seed: int
) -> None:
    """With few distinct values, so many are equally near, also across blocks."""
    draw = np.random.default_rng(seed)
    vectors = draw.integers(-1, 2, (count, 3)).astype(np.float16)
    asked = draw.integers(-1, 2, (queries, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nearest, "BLOCK", block)
        found = nearest.search_exact(vectors, asked, k, dot)
    scores = asked @ vectors.astype(np.float32).T
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert found.rows.tolist() == expected.tolist()
    assert found.scores.tolist() == np.take_along_axis(scores, expected, 1).tolist()


def test_an_approximate_index_is_the_same_each_time_and_finds_what_is_near(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(2000, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    torch.set_num_threads(1)
    for name in ("one", "two"):
        nearest.build_approximate(vectors, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    queries = vectors[:50].astype(np.float32)
    found = nearest.search_approximate(nearest.open_approximate(tmp_path / "one"), queries, 10)
    right = nearest.search_exact(vectors, queries, 10, dot)
    assert found.rows[:, 0].tolist() == list(range(50))
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(found.rows, right.rows, strict=True)]
    assert np.mean(shared) > 0.6  # 32 of 44 lists are searched, and the vectors form no clusters
    np.testing.assert_allclose(found.scores[:, 0], 1, atol=2e-3)
