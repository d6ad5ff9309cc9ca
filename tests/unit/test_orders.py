"""Counts of distinct orders of two rows over a paper's claims."""

import pandas as pd

from pipeline.tables.orders import order_counts

PAPER = {"a": 50, "b": 40, "c": 45, "d": 42, "a-human+mt": 60, "a@en - b@en": 10, "c@en - b@en": 5}


def test_an_order_counts_once_whichever_claims_name_it_and_how() -> None:
    compared = [
        ("a", "b", 3.0, None),  # a claim of a least size
        ("b", "a", -3.0, 0.01),  # the same order, with its p
        ("a", "c", -1.0, 0.02),  # reversed: the paper has 50 against 45
        ("b", "c", -1.0, 0.2),
        ("d", "b", 0.0, 1.0),  # a tie is not reversed
        ("a-human+mt", "a", 1.0, 0.2),
        ("a@en - b@en", "c@en - b@en", 1.0, 0.2),  # a gain
    ]
    lines = pd.DataFrame(compared, columns=["greater", "than", "difference", "p"])
    lines["paper_difference"] = lines["greater"].map(PAPER) - lines["than"].map(PAPER)
    lines["translations"] = ["google" if "mt" in name else None for name in lines["greater"]]
    best = lines.iloc[:1].assign(than="d", rivals=2)  # the paper's difference is to another row
    lines = pd.concat([lines.assign(rivals=1), best], ignore_index=True)
    counts = order_counts(lines.assign(dataset="multi30k", language="en", metric="mR"))
    assert counts.loc["human captions"].tolist() == [4, 2, 1, 1, 1, 1, 0]  # by Holm 0.04, 0.06, 0.4, 1
    assert counts.loc["with translations"].tolist() == [1, 1, 0, 0, 0, 0, 0]
