"""Recalls and bootstrap intervals, on cases worked out by hand and by general properties."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.tables.statistics import RECALLS, hits_by_image, intervals, mean_over_seeds, percentages


def ranks(of_images: dict[str, tuple[int, list[int]]]) -> pd.DataFrame:
    """For each image its own rank and those of its sentences."""
    rows = [("i2s", image, own) for image, (own, _) in of_images.items()]
    rows += [("s2i", image, rank) for image, (_, each) in of_images.items() for rank in each]
    return pd.DataFrame(rows, columns=["direction", "image", "rank"])


# a: rank 1, its two sentences 1 and 3; b: rank 6, its only sentence 11.
BY_HAND = ranks({"a": (1, [1, 3]), "b": (6, [11])})


def random_hits(seed: int, images: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    each = generator.integers(1, 4, images)
    ranked = {
        f"i{number:03d}": (int(generator.integers(1, 15)), generator.integers(1, 15, count).tolist())
        for number, count in enumerate(each)
    }
    return hits_by_image(ranks(ranked))


def test_hits_by_hand() -> None:
    hits = hits_by_image(BY_HAND)
    assert hits.loc["a"].to_dict() == {
        "i2s_R@1": 1, "i2s_R@5": 1, "i2s_R@10": 1, "i2s": 1,
        "s2i_R@1": 1, "s2i_R@5": 2, "s2i_R@10": 2, "s2i": 2,
    }  # fmt: skip
    assert hits.loc["b"].to_dict() == {
        "i2s_R@1": 0, "i2s_R@5": 0, "i2s_R@10": 1, "i2s": 1,
        "s2i_R@1": 0, "s2i_R@5": 0, "s2i_R@10": 0, "s2i": 1,
    }  # fmt: skip


def test_an_image_without_queries_in_a_direction_counts_as_no_query_there() -> None:
    hits = hits_by_image(ranks({"a": (1, [1, 3]), "b": (6, [])}))
    assert hits.loc["b", ["i2s", "s2i", "s2i_R@10"]].tolist() == [1, 0, 0]
    assert percentages(hits)["s2i_R@1"] == 50


def test_recalls_count_queries_and_not_images() -> None:
    found = percentages(hits_by_image(BY_HAND))
    assert [found[metric] for metric in RECALLS] == pytest.approx([50, 50, 100, 100 / 3, 200 / 3, 200 / 3])
    assert found["mR"] == pytest.approx((50 + 50 + 100 + 100 / 3 + 200 / 3 + 200 / 3) / 6)


def test_an_interval_by_hand() -> None:
    """Two images, one found: draws of both, of the first twice and of the second twice, 1 : 2 : 1."""
    hits = hits_by_image(ranks({"a": (1, [1]), "b": (11, [11])}))
    assert intervals(hits)["mR"] == (0, 100)
    assert intervals(hits, level=0.3)["mR"] == (50, 50)


def test_an_interval_is_as_wide_as_the_binomial_says() -> None:
    hits = hits_by_image(ranks({f"{n:03d}": (1 if n < 120 else 11, [1]) for n in range(400)}))
    low, high = intervals(hits)["i2s_R@1"]
    error = 100 * np.sqrt(0.3 * 0.7 / 400)
    assert low == pytest.approx(30 - 1.96 * error, abs=0.6)
    assert high == pytest.approx(30 + 1.96 * error, abs=0.6)


def test_copies_of_a_caption_do_not_narrow_the_interval() -> None:
    """Images are resampled, not captions."""
    once = {f"{n:02d}": (1, [1 if n < 20 else 11]) for n in range(50)}
    copied = {image: (own, each * 5) for image, (own, each) in once.items()}
    first, second = (intervals(hits_by_image(ranks(of)))["s2i_R@1"] for of in (once, copied))
    assert first == pytest.approx(second)


@given(st.integers(0, 10_000), st.integers(2, 40))
@settings(max_examples=40, deadline=None)
def test_an_interval_covers_its_estimate(seed: int, images: int) -> None:
    hits = random_hits(seed, images)
    found = percentages(hits)
    for metric, (low, high) in intervals(hits).items():
        assert 0 <= low <= found[metric] + 1e-9
        assert found[metric] - 1e-9 <= high <= 100 + 1e-9


def test_seeds_are_averaged_image_by_image() -> None:
    other = ranks({"a": (11, [1, 3]), "b": (6, [1])})
    hits = mean_over_seeds([hits_by_image(BY_HAND), hits_by_image(other)])
    assert hits.loc["a", "i2s_R@1"] == 0.5
    assert hits.loc["b", "s2i_R@1"] == 0.5
    assert hits["s2i"].to_dict() == {"a": 2, "b": 1}
    assert percentages(hits)["s2i_R@1"] == pytest.approx(50)


def test_the_interval_of_a_mean_takes_the_same_images_in_every_language() -> None:
    """Two languages that are wrong where the other is right have a mean of 50 in every draw."""
    first = hits_by_image(ranks({"a": (1, [1]), "b": (99, [99]), "c": (1, [1])}))
    second = hits_by_image(ranks({"a": (99, [99]), "b": (1, [1]), "c": (99, [99])}))
    assert intervals(first, second)["mR"] == pytest.approx((50, 50))
    assert intervals(first)["mR"][0] < 50 < intervals(first)["mR"][1]
