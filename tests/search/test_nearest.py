"""The nearest vectors against a plain full sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from search import index


def dot(queries: Tensor, vectors: Tensor) -> Tensor:
    return queries @ vectors.T


def test_a_case_by_hand() -> None:
    vectors = np.array([[0, 1], [1, 0], [0.6, 0.8], [0.8, 0.6]], np.float16)
    found = index.nearest(np.array([[1, 0], [0, 1]], np.float32), vectors, 3, dot)
    assert found.rows.tolist() == [[1, 3, 2], [0, 2, 3]]
    np.testing.assert_allclose(found.scores, [[1, 0.8, 0.6], [1, 0.8, 0.6]], atol=1e-3)


def test_more_neighbours_are_requested_than_exist() -> None:
    found = index.nearest(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float16), 10, dot)
    assert found.rows.tolist() == [[0, 1], [1, 0]]
    assert index.nearest(np.eye(2, dtype=np.float32), np.zeros((0, 2), np.float16), 3, dot).rows.shape == (
        2,
        0,
    )


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
        patched.setattr(index, "BLOCK", block)
        found = index.nearest(asked, vectors, k, dot)
    scores = asked @ vectors.astype(np.float32).T
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert found.rows.tolist() == expected.tolist()
    assert found.scores.tolist() == np.take_along_axis(scores, expected, 1).tolist()
