"""Counts of distinct orders of two rows over a paper's claims."""

import pandas as pd

from pipeline.tables.orders import order_counts

PAPER = {"a": 50.0, "b": 40.0, "c": 45.0, "a-human+mt": 60.0, "a@en - b@en": 10.0, "c@en - b@en": 5.0}


def test_an_order_counts_once_whichever_claims_name_it_and_how() -> None:
    compared = [
        ("a", "b", 3.0, 0.01),
        ("b", "a", -3.0, 0.01),  # the same order
        ("a", "c", -1.0, 0.01),  # reversed: the paper has 50 against 45
        ("b", "c", -1.0, 0.2),
        ("a-human+mt", "a", 1.0, 0.2),
        ("a@en - b@en", "c@en - b@en", 1.0, 0.2),  # a gain
    ]
    lines = pd.DataFrame(compared, columns=["greater", "than", "difference", "p"])
    lines["paper_difference"] = lines["greater"].map(PAPER) - lines["than"].map(PAPER)
    lines["translations"] = ["google" if "mt" in name else None for name in lines["greater"]]
    best = lines.iloc[:1].assign(than="d", rivals=2)  # the paper's difference is to another row
    lines = pd.concat([lines.assign(rivals=1), best], ignore_index=True)
    counts = order_counts(lines.assign(dataset="multi30k", language="en", metric="mR"))
    # p of 0.01, 0.01 and 0.2 are 0.03, 0.03 and 0.2 by Holm.
    assert counts.loc["human captions"].tolist() == [3, 2, 1, 1, 1, 1, 1]
    assert counts.loc["with translations"].tolist() == [1, 1, 0, 0, 0, 0, 0]
