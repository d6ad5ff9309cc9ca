"""Counts of orders over a published run, and what the paper's own numbers say of a claim."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow.orders import order_counts, own_support

PAPER = {"a": 50.0, "b": 40.0, "c-en": 45.0, "a-human+mt": 60.0}


def write_run(folder: Path, compared: list[tuple[str, str, str, float, float]]) -> Path:
    """A run with the paper's mR of English, and comparisons: claim, greater, than, difference, p."""
    (folder / "comparison").mkdir()
    place = {"dataset": "multi30k", "language": "en", "metric": "mR"}
    table: list[dict[str, Any]] = [{"experiment": name, "paper": mr, **place} for name, mr in PAPER.items()]
    pd.DataFrame(table).to_csv(folder / "comparison" / "table2.csv", index=False)
    lines = pd.DataFrame(compared, columns=["id", "greater", "than", "difference", "p"]).assign(**place)
    lines["translations"] = ["google" if "mt" in name else None for name in lines["greater"]]
    lines.to_csv(folder / "comparison" / "claims.csv", index=False)
    claims = pd.DataFrame({"id": lines["id"].unique(), "needs": "all", "verdict": "undecided"})
    claims.to_csv(folder / "claims.csv", index=False)
    return folder


def test_an_order_counts_once_whichever_claims_name_it_and_how(tmp_path: Path) -> None:
    run = write_run(
        tmp_path,
        [
            ("M1", "a", "b", 3.0, 0.01),
            ("M2", "b", "a", -3.0, 0.01),  # the same order
            ("M2", "a", "c", -1.0, 0.01),  # reversed: the paper has 50 against 45
            ("M2", "b", "c", -1.0, 0.2),
            ("M3", "a-human+mt", "a", 1.0, 0.2),
            ("M3", "a@en - b@en", "c@en - b@en", 1.0, 0.2),  # a gain
        ],
    )
    counts = order_counts(run)
    # p of 0.01, 0.01 and 0.2 are 0.03, 0.03 and 0.2 by Holm.
    assert counts.loc["human captions"].tolist() == [3, 2, 1, 1, 1, 1, 1]
    assert counts.loc["with translations"].tolist() == [1, 1, 0, 0, 0, 0, 0]


def test_a_claim_is_supported_if_the_papers_signs_are_as_claimed(tmp_path: Path) -> None:
    compared = [("M1", "a", "b"), ("M2", "a", "b"), ("M2", "b", "c"), ("M3", "a@en - b@en", "c@en - b@en")]
    run = write_run(tmp_path, [(*names, 0.0, 1.0) for names in compared])
    assert own_support(run).to_dict() == {"M1": True, "M2": False, "M3": True}
