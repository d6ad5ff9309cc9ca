"""Differences over images and seeds: cases worked out by hand, and how often intervals cover the truth."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.tables.contrasts import Term, contrast, contrast_to_best, holm
from pipeline.tables.statistics import RECALLS, intervals, percentages

T_1, T_2, T_3 = 12.706205, 4.302653, 3.182446  # 97.5% quantiles of Student's t, from a printed table


def hits_of(*images: float, queries: int = 1) -> pd.DataFrame:
    """Hits of images: at every K and in both directions, the given share of an image's queries is found."""
    ways = {"i2s": [1.0] * len(images), "s2i": [float(queries)] * len(images)}
    shares = np.array(images)
    found = {recall: shares * np.array(ways[recall.split("_")[0]]) for recall in RECALLS}
    return pd.DataFrame({**found, **ways}, index=[f"i{number:04d}" for number in range(len(images))])


def against(first: Sequence[pd.DataFrame], second: Sequence[pd.DataFrame]) -> list[Term]:
    return [Term(1, first), Term(-1, second)]


def test_one_seed_by_hand() -> None:
    """One of four images is found by the first row only: 100, 0, 0, 0 have the standard error 25."""
    found = contrast(against([hits_of(1, 1, 0, 0)], [hits_of(0, 1, 0, 0)]), "mR")
    assert found.value == pytest.approx(25)
    assert (found.low, found.high) == pytest.approx((25 - T_3 * 25, 25 + T_3 * 25), rel=1e-5)
    assert found.p == pytest.approx(0.391002, rel=1e-5)  # of t = 1 with 3 degrees of freedom


def test_two_seeds_by_hand() -> None:
    """All images agree, and the seeds differ by 100: standard error 50, one degree of freedom."""
    terms = against([hits_of(0, 0), hits_of(1, 1)], [hits_of(0, 0), hits_of(0, 0)])
    found = contrast(terms, "s2i_R@5")
    assert (found.value, found.p) == pytest.approx((50, 0.5))
    assert (found.low, found.high) == pytest.approx((50 - T_1 * 50, 50 + T_1 * 50), rel=1e-5)


def test_images_and_seeds_by_hand() -> None:
    """Rows of cells 0 60 and 40 100: images 30 and 70, seeds 20 and 80.

    Variances of the means: images 800 / 2 = 400, seeds 1800 / 2 = 900. Degrees of freedom: 1300^2 / (400^2 +
    900^2), between 1 and 2.
    """
    first = [hits_of(0.0, 0.4), hits_of(0.6, 1.0)]
    found = contrast(against(first, [hits_of(0, 0)] * 2), "mR")
    assert found.value == pytest.approx(50)
    half = (found.high - found.low) / 2
    assert T_2 * 1300**0.5 < half < T_1 * 1300**0.5


def test_rows_that_differ_by_a_constant_over_seeds_have_the_interval_of_images_only() -> None:
    """Each seed shifts both rows by the same amount, however much seeds vary."""
    generator = np.random.default_rng(0)
    images = generator.uniform(0.3, 0.4, 50)
    shifts = [0.0, 0.2, -0.2]
    first = [hits_of(*(images + shift)) for shift in shifts]
    second = [hits_of(*(images[::-1] + shift)) for shift in shifts]
    paired, alone = contrast(against(first, second), "mR"), contrast(against(first[:1], second[:1]), "mR")
    assert (paired.low, paired.high, paired.p) == pytest.approx((alone.low, alone.high, alone.p))
    unpaired = contrast(against(first, [second[1], second[2], second[0]]), "mR")
    assert unpaired.high - unpaired.low > 5 * (paired.high - paired.low)


def test_a_gain_against_a_gain_is_the_sum_of_its_terms() -> None:
    rows = [hits_of(1, 1, 0, 1), hits_of(0, 1, 0, 0), hits_of(0, 0, 1, 0), hits_of(0, 0, 1, 1)]
    terms = [Term(weight, [row]) for weight, row in zip((0.5, -0.5, -1, 2), rows, strict=True)]
    assert contrast(terms, "mR").value == pytest.approx(37.5 - 12.5 - 25 + 100)


def test_images_with_more_captions_weigh_more_as_in_the_bootstrap() -> None:
    generator = np.random.default_rng(3)
    queries = generator.integers(1, 6, 400).astype(float)
    hits = hits_of(*np.zeros(400))
    hits["s2i"] = queries
    for recall in RECALLS[3:]:
        hits[recall] = generator.binomial(queries.astype(int), 0.3)
    found, (low, high) = contrast([Term(1, [hits])], "s2i_R@1"), intervals(hits)["s2i_R@1"]
    assert found.value == pytest.approx(percentages(hits)["s2i_R@1"])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.3)


def test_an_image_that_a_language_lacks_does_not_affect_it() -> None:
    """Means over languages: an image without captions in the second language counts in the first only."""
    english, german = hits_of(1, 0, 0), hits_of(1, 0)
    found = contrast([Term(0.5, [english]), Term(0.5, [german])], "mR")
    assert found.value == pytest.approx((100 / 3 + 50) / 2)
    # changes to first order: 200/9, -100/9, -100/9 and 25, -25, halved and times three images
    cells = found.value + 3 * 0.5 * np.array([200 / 9 + 25, -100 / 9 - 25, -100 / 9])
    error = (cells.var(ddof=1) / 3) ** 0.5
    assert found.high == pytest.approx(found.value + T_2 * error, rel=1e-5)


def test_a_row_minus_itself_is_exactly_zero() -> None:
    found = contrast(against([hits_of(1, 0, 1)] * 2, [hits_of(1, 0, 1)] * 2), "mR")
    assert (found.value, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_one_image_has_an_infinite_interval() -> None:
    found = contrast(against([hits_of(1)], [hits_of(0)]), "mR")
    assert (found.value, found.low, found.high, found.p) == (100, -np.inf, np.inf, 1)


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_exchanging_sides_changes_the_sign_and_p_agrees_with_the_interval(
    seed: int, images: int, seeds: int
) -> None:
    generator = np.random.default_rng(seed)
    first, second = ([hits_of(*generator.uniform(0, 1, images)) for _ in range(seeds)] for _ in range(2))
    found, other = contrast(against(first, second), "mR"), contrast(against(second, first), "mR")
    assert (other.value, other.low, other.high) == pytest.approx((-found.value, -found.high, -found.low))
    assert other.p == pytest.approx(found.p)
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def simulate(images: int, seeds: int, deviation: float, generator: np.random.Generator) -> list[Term]:
    """Two rows without a true difference: images differ, images differ by row and by seed, and seeds differ.

    deviation: of the mR over seeds, in points.
    """
    difficulty = generator.normal(0.4, 0.15, images)

    def row() -> list[pd.DataFrame]:
        of_row = difficulty + generator.normal(0, 0.1, images)
        of_seeds = generator.normal(0, deviation / 100, seeds)
        return [hits_of(*(of_row + generator.normal(0, 0.1, images) + seed)) for seed in of_seeds]

    return against(row(), row())


@pytest.mark.parametrize(("seeds", "deviation"), [(2, 0.5), (3, 1.5)])
def test_the_interval_covers_the_truth_at_its_nominal_rate(seeds: int, deviation: float) -> None:
    """The rate is 0.95: a bit wide is allowed, too narrow is not. A bootstrap over seeds covers 0.8."""
    generator = np.random.default_rng(seeds)
    found = [contrast(simulate(300, seeds, deviation, generator), "mR") for _ in range(400)]
    covered = np.mean([each.low <= 0 <= each.high for each in found])
    assert 0.92 < covered < 0.99
    assert np.mean([each.p < 0.05 for each in found]) == pytest.approx(1 - covered)


def test_the_best_of_equal_rivals_is_not_above_more_often_than_chance_allows() -> None:
    """Of seven rivals, all equal: uncorrected, the best is measurably above in a tenth of the repetitions."""
    generator, below, covered, uncorrected = np.random.default_rng(0), 0, 0, 0
    for _ in range(300):
        own, *others = [simulate(100, 1, 0, generator)[0].hits for _ in range(8)]
        best = max(others, key=lambda hits: contrast([Term(1, hits)], "mR").value)
        plain = contrast(against(own, best), "mR")
        found = contrast_to_best([Term(1, own)], [[Term(1, hits)] for hits in others], "mR")
        assert found.value == pytest.approx(plain.value)
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)
        below += found.value < 0 and found.p < 0.05
        uncorrected += plain.value < 0 and plain.p < 0.05
        covered += found.low <= 0 <= found.high
    assert below <= 0.04 * 300 < 0.06 * 300 < uncorrected
    assert covered > 0.94 * 300


def test_a_row_is_above_the_best_only_if_it_is_above_each_rival() -> None:
    """It leads one rival by 0.2 points with a small error, and equals the other."""
    generator, above, closest = np.random.default_rng(1), 0, 0
    for _ in range(300):
        own, other = (generator.uniform(0, 1, 100) for _ in range(2))
        like = own - 0.002 * generator.uniform(0.5, 1.5, 100)
        rivals = [[hits_of(*like)], [hits_of(*other)]]
        found = contrast_to_best([Term(1, [hits_of(*own)])], [[Term(1, rival)] for rival in rivals], "mR")
        each = [contrast(against([hits_of(*own)], rival), "mR") for rival in rivals]
        closest += min(each, key=lambda one: one.value).p < 0.05
        above += found.value > 0 and found.p < 0.05
        assert found.low == min(one.low for one in each)
        if found.value > 0:
            assert found.p == max(one.p for one in each)
    assert above <= 0.04 * 300 < 0.2 * 300 < closest


def test_holms_correction_by_hand() -> None:
    found = holm(np.array([0.01, np.nan, 0.04, 0.03, 0.9]))
    np.testing.assert_allclose(found, [0.04, np.nan, 0.09, 0.09, 0.9])
    np.testing.assert_array_equal(holm(np.array([0.6, 0.7])), [1.0, 1.0])
