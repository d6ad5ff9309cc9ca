"""A number is rounded to the same tenth wherever it is printed."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.common.rounding import tenths

# 1, 36 and 78 of 200 images and 71, 302 and 441 of 1,000 sentences found: the mean is 138.9 / 6 = 23.15.
FOUND = [0.5, 18.0, 39.0, 7.1, 30.2, 44.1]
MEAN = sum(FOUND) / 6


def test_a_half_rounds_the_same_way_before_it_is_written_and_after() -> None:
    written = float(f"{MEAN:.6f}")
    assert (f"{MEAN:.1f}", f"{written:.1f}") == ("23.2", "23.1")  # why the module `rounding` exists
    assert tenths(MEAN) == tenths(written) == "23.2"


@given(st.floats(-100, 100))
@example(23.1499996)  # written as 23.150000
def test_a_number_and_its_written_form_have_the_same_tenth(value: float) -> None:
    assert tenths(value) == tenths(float(f"{value:.6f}"))


@pytest.mark.parametrize(
    ("value", "printed"),
    [(23.25, "23.3"), (23.35, "23.4"), (23.149, "23.1"), (0.05, "0.1"), (-0.25, "-0.3"), (-0.04, "0.0")],
)
def test_halves_go_away_from_zero_and_nothing_else_does(value: float, printed: str) -> None:
    assert tenths(value) == printed
    assert tenths(100.0) == "100.0"


def test_a_difference_has_its_sign() -> None:
    assert [tenths(value, sign=True) for value in (2.35, 0.0, -0.04, -2.35)] == [
        "+2.4",
        "+0.0",
        "+0.0",
        "-2.4",
    ]
