"""Orders of two rows that a paper's claims name: how many of the paper's are ours."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from pipeline.tables.contrasts import holm

LEVEL = 0.05
KINDS = ("human captions", "with translations", "stand-in for MSCOCO")


def order_counts(lines: pd.DataFrame, mscoco: Collection[str] = ("mscoco",)) -> pd.DataFrame:
    """Distinct orders of two rows in a language, of which the paper prints numbers.

    Every pair of rows that a claim compares in a language and a metric counts once, whatever the claim says
    of it and how many claims do. Left out are single recalls of a paper that prints mR, ML BERT, which is a
    toy outside scale paper, gains against gains, ties in the paper, and comparisons with the best of several
    rows, which need not be the same row in the paper.

    Args:
        lines: comparisons of one paper's claims, as `judge_claims` writes them. mscoco: the data sets that
            stand for MSCOCO.

    Returns:
        a row for each of KINDS, and the columns `orders`, `same` (the paper's sign is ours), `same_clear`
        (p below 0.05), `same_holm` (also by Holm over the orders of the kind), `reversed`, ...
    """
    lines = lines[lines["rivals"] == 1]
    sides = lines["greater"] + " " + lines["than"]
    metrics = ["mR"] if lines["metric"].eq("mR").any() else lines["metric"].unique()
    lines = lines[
        ~sides.str.contains("bert-|@") & lines["metric"].isin(metrics) & (lines["paper_difference"].abs() > 0)
    ]
    pairs = sides[lines.index].str.split().map(sorted).map(" ".join)
    lines = lines.assign(pair=pairs).sort_values("p", kind="stable")  # a claim of a least size has no p
    lines = lines.drop_duplicates(["pair", "dataset", "language", "metric"])
    kinds = np.select([lines["translations"].notna(), lines["dataset"].isin(mscoco)], KINDS[1:], KINDS[0])
    p_holm = lines.groupby(kinds)["p"].transform(lambda p: holm(p.to_numpy(dtype=float)))
    product = lines["difference"] * lines["paper_difference"]
    limits = {"": product.notna(), "_clear": lines["p"] < LEVEL, "_holm": p_holm < LEVEL}
    counted = {"orders": product.notna()}
    for name, sign in (("same", product > 0), ("reversed", product < 0)):
        counted |= {name + limit: sign & within for limit, within in limits.items()}
    return pd.DataFrame(counted).groupby(kinds).sum().reindex(KINDS, fill_value=0)
