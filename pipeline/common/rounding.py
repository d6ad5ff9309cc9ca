"""How percentages are rounded in tables, claims and pages, so that they never differ by a tenth."""

from decimal import ROUND_HALF_UP, Decimal

TENTH = Decimal("0.1")


def tenths(value: float, sign: bool = False) -> str:
    """A number to the nearest tenth, halves away from zero: 23.15 is 23.2, -0.25 is -0.3.

    A mean of recalls that is 23.15 on paper can be 23.150000000000002 in memory and 23.149999999999999 when
    read from a file, which `%.1f` rounds to different tenths. So the number is rounded to six decimals first,
    as many as results/comparison has: it gives the same tenth before it is written and after.

    Args:
        sign: whether a number that is not negative begins with `+`.
    """
    decimal = Decimal(f"{value:.6f}").quantize(TENTH, ROUND_HALF_UP) + 0  # turns -0.0 into 0.0
    return f"{decimal:+}" if sign else f"{decimal}"
