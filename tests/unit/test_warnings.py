"""Warnings about user settings that some rows of a table ignore come before anything runs."""

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
    return configuration.setting_warnings(configuration.load(user, CONFIG), user, "mine")


def test_a_key_that_some_rows_ignore_is_named_with_their_value() -> None:
    """SMALR's experiments have their own margin; MULE's and LIWE's have none in `triplets`."""
    assert warnings_of(triplets={"margin": 0.2}) == [
        "mine: triplets.margin is 0.2 in some rows, and 0.05 in rows of smalr "
        "(experiments.*.settings.triplets.margin)"
    ]


def test_there_is_no_warning_about_equal_or_intended_values() -> None:
    assert warnings_of() == []
    assert warnings_of(triplets={"margin": "0.05"}) == []  # as --config gives it
    own = {"smalr": {"settings": {"triplets": {"margin": 0.3}}}}
    assert warnings_of(triplets={"margin": 0.2}, experiments=own) == []


def test_there_is_no_warning_about_rows_that_are_not_trained() -> None:
    """VSE needs the features of another network; without them its row has only the paper's numbers."""
    rows = [{**ROWS[0], "experiment": "vse"}, {**ROWS[1], "experiment": "parallel-embn"}]
    table = {"mine": {"columns": COLUMNS, "rows": rows}}
    named = "mine: training.epochs is 3 in some rows, and 5 in rows of vse"
    assert warnings_of(training={"epochs": 3}, tables=table) == [
        f"{named} (experiments.*.settings.training.epochs)"
    ]
    assert warnings_of(training={"epochs": 3}, tables=table, images={"sets": {"vgg": None}}) == []


def test_a_language_that_a_model_lacks_is_named() -> None:
    """Multi30K has Chinese only by translation; a table without the language lacks nothing."""
    three = {"three": {"branches": "shared", "captions": "human", "languages": ["en", "de", "zh"]}}
    rows = [{"row": 1, "method": "three", "experiment": "three"}]
    table = {"mine": {"columns": {"multi30k": ["en", "zh"], "mscoco": ["en", "zh"]}, "rows": rows}}
    assert warnings_of(experiments=three, tables=table) == [
        "mine: three lacks zh on multi30k, which has no captions of its own in that language; "
        "`languages: all` includes translated languages"
    ]
    assert (
        warnings_of(experiments=three, tables={"mine": {"columns": {"multi30k": ["en"]}, "rows": rows}}) == []
    )


def test_there_is_no_warning_about_a_table_whose_rows_agree() -> None:
    alike = {"mine": {"columns": COLUMNS, "rows": [ROWS[1]]}}
    assert warnings_of(triplets={"margin": 0.2}, tables=alike) == []
