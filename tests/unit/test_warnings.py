"""What a user sets and some rows of a table do not take is told before anything runs."""

from pathlib import Path
from typing import Any

from pipeline import settings as configuration

CONFIG = Path(__file__).parents[2] / "config"
COLUMNS = {"multi30k": ["en"]}
ROWS = [
    {"row": 1, "method": "MULE", "experiment": "mule-ten"},
    {"row": 2, "method": "SMALR", "experiment": "smalr"},
    {"row": 3, "method": "LIWE", "experiment": "liwe-s-en"},
]


def warnings_of(**user: Any) -> list[str]:
    user = {"scale": "demo", "tables": {"mine": {"columns": COLUMNS, "rows": ROWS}}, **user}
    return configuration.doubts(configuration.load(user, CONFIG), user, "mine")


def test_a_key_that_some_rows_do_not_take_is_told_with_their_value() -> None:
    """SMALR's experiments have a margin of their own, MULE's and LIWE's none in `triplets`."""
    assert warnings_of(triplets={"margin": 0.2}) == [
        "mine: triplets.margin is 0.2 in some rows, and 0.05 in those of smalr "
        "(experiments.*.settings.triplets.margin)"
    ]


def test_nothing_is_told_of_what_is_the_same_or_meant() -> None:
    assert warnings_of() == []
    assert warnings_of(triplets={"margin": "0.05"}) == []  # as --config gives it
    own = {"smalr": {"settings": {"triplets": {"margin": 0.3}}}}
    assert warnings_of(triplets={"margin": 0.2}, experiments=own) == []


def test_a_language_that_a_model_goes_without_is_told() -> None:
    """Multi30K has Chinese by translation alone; a table without the language lacks nothing."""
    three = {"three": {"branches": "shared", "captions": "human", "languages": ["en", "de", "zh"]}}
    rows = [{"row": 1, "method": "three", "experiment": "three"}]
    table = {"mine": {"columns": {"multi30k": ["en", "zh"], "mscoco": ["en", "zh"]}, "rows": rows}}
    assert warnings_of(experiments=three, tables=table) == [
        "mine: three is without zh on multi30k, which has no captions of its own in it; "
        "`languages: all` takes translated ones"
    ]
    assert (
        warnings_of(experiments=three, tables={"mine": {"columns": {"multi30k": ["en"]}, "rows": rows}}) == []
    )


def test_nothing_is_told_of_a_table_whose_rows_are_alike() -> None:
    alike = {"mine": {"columns": COLUMNS, "rows": [ROWS[1]]}}
    assert warnings_of(triplets={"margin": 0.2}, tables=alike) == []
