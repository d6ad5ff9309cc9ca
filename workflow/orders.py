"""A paper's claims in a published run: distinct orders of rows, and what the paper's own tables say."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.tables import orders
from pipeline.tables.claim_terms import enough, parts
from pipeline.tables.result_files import read_result

OF_PAPER = {"multi30k": "multi30k", "flickr8kcn": "mscoco"}

Key = tuple[str, str, str, str]  # experiment, language, data set, metric


def compared(run: Path) -> pd.DataFrame:
    """The comparisons of a run's claims, with the claim's `needs` and as `printed` the paper's difference."""
    lines = _read(run / "comparison" / "claims.csv")
    lines = lines.merge(_read(run / "claims.csv")[["id", "needs", "verdict"]], on="id")
    numbers = dict(_printed(run))
    return lines.assign(
        printed=[
            round(_printed_side(row["greater"], row, numbers) - _printed_side(row["than"], row, numbers), 2)
            for _, row in lines.iterrows()
        ]
    )


def _printed(run: Path) -> Iterator[tuple[Key, float]]:
    """The paper's numbers in the tables of a run."""
    for path in sorted((run / "comparison").glob("**/*.csv")):
        table = _read(path)
        if {"paper", "experiment"} <= set(table):
            for row in table.dropna(subset=["paper", "experiment"]).to_dict("records"):
                key = row["experiment"], row["language"], row["dataset"], row["metric"]
                yield key, float(row["paper"])


def _printed_side(text: str, line: "pd.Series[str]", numbers: dict[Key, float]) -> float:
    """One side of a comparison in the paper's numbers; NaN if its tables print none, as with CLC's scores."""
    total, (dataset, metric) = 0.0, (line["dataset"], line["metric"])
    for part in parts(text, line["language"], OF_PAPER[dataset]):
        names = [part.name, f"{part.name}-{part.language}"]  # the second is the model of one language
        found = [numbers[key] for name in names if (key := (name, part.language, dataset, metric)) in numbers]
        total += part.weight * (found[0] if found and part.queries in ("original", "translated") else np.nan)
    return total


def order_counts(run: Path) -> pd.DataFrame:
    """Distinct orders of two rows in a language: how many of the paper's are ours (`orders.order_counts`)."""
    lines = compared(run)
    return orders.order_counts(
        lines.assign(paper_difference=lines["printed"]), [data for data in OF_PAPER if data != "multi30k"]
    )


def own_support(run: Path) -> "pd.Series[bool]":
    """By claim whether the signs of the paper's own differences support it; not of claims without any."""
    lines = compared(run).dropna(subset="printed")
    supported = (lines["printed"] > 0).groupby(lines["id"])
    needs = lines.groupby("id")["needs"].first()
    good = zip(needs, supported.sum(), supported.size(), strict=True)
    return pd.Series([enough(*counts) for counts in good], needs.index)


def _read(path: Path) -> pd.DataFrame:
    return read_result(path, "published results", "Name a run of results/published that has claims.")
