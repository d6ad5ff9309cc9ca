"""Intervals and the paired test, on cases worked out by hand and by what must be true of all."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.tables.statistics import (
    FLIPS,
    METRICS,
    RECALLS,
    Term,
    contributions,
    difference,
    difference_interval,
    difference_p,
    hits_by_image,
    holm,
    intervals,
    mean_over_seeds,
    measured,
    sign_flip_p,
    weighted_sum,
)


def ranks(of_images: dict[str, tuple[int, list[int]]]) -> pd.DataFrame:
    """For each image its own rank and those of its sentences."""
    rows = [("i2s", image, own) for image, (own, _) in of_images.items()]
    rows += [("s2i", image, rank) for image, (_, each) in of_images.items() for rank in each]
    return pd.DataFrame(rows, columns=["direction", "image", "rank"])


# a: found at once, one of its two sentences too, the other is third; b: sixth, its one sentence eleventh.
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


def test_recalls_count_queries_and_not_images() -> None:
    found = measured(hits_by_image(BY_HAND))
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


def test_five_captions_that_say_the_same_are_not_five_times_as_sure() -> None:
    """Images are drawn, not captions: copies of a caption leave the interval as it is."""
    once = {f"{n:02d}": (1, [1 if n < 20 else 11]) for n in range(50)}
    copied = {image: (own, each * 5) for image, (own, each) in once.items()}
    first, second = (intervals(hits_by_image(ranks(of)))["s2i_R@1"] for of in (once, copied))
    assert first == pytest.approx(second)


@given(st.integers(0, 10_000), st.integers(2, 40))
@settings(max_examples=40, deadline=None)
def test_an_interval_covers_its_estimate(seed: int, images: int) -> None:
    hits = random_hits(seed, images)
    found = measured(hits)
    for metric, (low, high) in intervals(hits).items():
        assert 0 <= low <= found[metric] + 1e-9
        assert found[metric] - 1e-9 <= high <= 100 + 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_more_images_narrow_an_interval(seed: int) -> None:
    hits = random_hits(seed, 15)
    many = pd.concat([hits.rename(index=lambda image, n=n: f"{image}-{n}") for n in range(16)])
    (low, high), (lower, higher) = intervals(hits)["mR"], intervals(many)["mR"]
    assert measured(many)["mR"] == pytest.approx(measured(hits)["mR"])
    assert 0.15 < (higher - lower) / (high - low) < 0.4  # a fourth


@given(st.integers(0, 10_000), st.integers(2, 30))
@settings(max_examples=30, deadline=None)
def test_what_images_contribute_adds_up_to_the_metric(seed: int, images: int) -> None:
    hits = random_hits(seed, images)
    for metric in METRICS:
        assert contributions(hits, metric).sum() == pytest.approx(measured(hits)[metric])


def test_seeds_are_averaged_image_by_image() -> None:
    other = ranks({"a": (11, [1, 3]), "b": (6, [1])})
    hits = mean_over_seeds([hits_by_image(BY_HAND), hits_by_image(other)])
    assert hits.loc["a", "i2s_R@1"] == 0.5
    assert hits.loc["b", "s2i_R@1"] == 0.5
    assert hits["s2i"].to_dict() == {"a": 2, "b": 1}
    assert measured(hits)["s2i_R@1"] == pytest.approx(50)


def test_p_by_hand() -> None:
    """Of the eight ways to swap three images, two are as far apart; of two images' four ways, all."""
    near = 4 * np.sqrt(0.25 / FLIPS)
    assert sign_flip_p([1, 1, 1]) == pytest.approx(2 / 8, abs=near)
    assert sign_flip_p([1, 2, 4]) == pytest.approx(2 / 8, abs=near)
    assert sign_flip_p([1, 1, -1]) == pytest.approx(1, abs=near)
    assert sign_flip_p([3, 0, 0]) == 1


def test_p_is_never_zero() -> None:
    assert sign_flip_p(np.ones(100)) == 1 / (FLIPS + 1)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_row_against_itself_has_p_of_one_and_sides_do_not_matter(seed: int) -> None:
    first, second = (contributions(random_hits(s, 20), "mR") for s in (seed, seed + 1))
    assert sign_flip_p(weighted_sum([(1, first), (-1, first)]).to_numpy()) == 1
    one_way = sign_flip_p(weighted_sum([(1, first), (-1, second)]).to_numpy())
    assert one_way == sign_flip_p(weighted_sum([(1, second), (-1, first)]).to_numpy())
    assert 0 < one_way <= 1


def all_or_none(*seeds: bool, images: int = 2) -> list[pd.DataFrame]:
    """Hits of some seeds, each of which finds everything or nothing."""
    return [
        hits_by_image(ranks({f"i{n}": (1 if found else 11, [1 if found else 11]) for n in range(images)}))
        for found in seeds
    ]


def test_a_difference_is_drawn_over_seeds_by_hand() -> None:
    """One of two seeds finds everything, and the other row nothing: 0, 50 and 100 are drawn 1 : 2 : 1."""
    terms = [Term(1, "a", all_or_none(False, True)), Term(-1, "b", all_or_none(False, False))]
    assert difference(terms, "mR") == 50
    assert difference_interval(terms, "mR") == (0, 100)
    assert difference_interval(terms, "mR", level=0.4) == (50, 50)
    alone = [Term(1, "a", all_or_none(True)), Term(-1, "b", all_or_none(False))]
    assert difference_interval(alone, "mR") == (100, 100)


def test_p_over_seeds_by_hand() -> None:
    """The one image swaps to 50 or -50; seeds shift it by -50, 0 or 50, 1 : 2 : 1: three of four are far."""
    terms = [
        Term(1, "a", all_or_none(False, True, images=1)),
        Term(-1, "b", all_or_none(False, False, images=1)),
    ]
    assert difference_p(terms, "mR") == pytest.approx(3 / 4, abs=4 * np.sqrt(0.1875 / FLIPS))


def test_a_models_seeds_are_drawn_together_and_those_of_two_models_apart() -> None:
    """Both rows find everything by their second seed alone."""
    one, other = all_or_none(False, True), all_or_none(False, True)
    assert difference_interval([Term(1, "a", one), Term(-1, "a", other)], "mR") == (0, 0)
    assert difference_interval([Term(1, "a", one), Term(-1, "b", other)], "mR") == (-100, 100)
    assert difference_p([Term(1, "a", one), Term(-1, "a", other)], "mR") == 1


def test_both_sides_have_the_same_images_drawn() -> None:
    """Each finds one of two images, the same or another: differences are always 0, or -100, 0 and 100."""
    first, second = (hits_by_image(ranks({"a": (x, [x]), "b": (12 - x, [12 - x])})) for x in (1, 11))
    assert difference_interval([Term(1, "a", [first]), Term(-1, "b", [first])], "s2i_R@1") == (0, 0)
    assert difference_interval([Term(1, "a", [first]), Term(-1, "b", [second])], "s2i_R@1") == (-100, 100)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_with_one_seed_images_alone_decide(seed: int) -> None:
    first, second = (
        random_hits(seed, 20),
        random_hits(seed, 20).iloc[::-1].set_axis(random_hits(seed, 20).index),
    )
    parts = contributions(first, "mR") - contributions(second, "mR")
    terms = [Term(1, "a", [first]), Term(-1, "b", [second])]
    assert difference(terms, "mR") == pytest.approx(parts.sum())
    assert difference_p(terms, "mR") == sign_flip_p(parts.to_numpy())


def test_p_is_below_a_level_as_often_as_the_level_says_where_nothing_differs() -> None:
    generator = np.random.default_rng(0)
    found = [sign_flip_p(generator.normal(size=60), seed=0) for _ in range(300)]
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.06)


def test_an_image_that_one_side_lacks_adds_nothing_to_it() -> None:
    first, second = pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"b": 5.0, "c": 1.0})
    assert weighted_sum([(1, first), (-0.5, second)]).to_dict() == {"a": 1.0, "b": -0.5, "c": -0.5}


def test_holm_multiplies_the_smallest_by_all_the_next_by_one_less_and_never_goes_down() -> None:
    found = holm(np.array([0.01, np.nan, 0.04, 0.03, 0.9]))
    np.testing.assert_allclose(found, [0.04, np.nan, 0.09, 0.09, 0.9])
    np.testing.assert_array_equal(holm(np.array([0.6, 0.7])), [1.0, 1.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_makes_p_smaller_and_keeps_their_order(p: list[float]) -> None:
    given_p = np.array(p)
    corrected = holm(given_p)
    assert (corrected >= given_p).all() and (corrected <= 1).all()
    assert (np.diff(corrected[given_p.argsort(kind="stable")]) >= 0).all()
