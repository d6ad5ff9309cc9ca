"""Differences of recalls, and differences of differences, with their uncertainty over images and seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from pipeline.tables.statistics import RECALLS, Array, percentages

_ROUNDING = 1e-9  # sums that are mathematically equal may differ in the last digits


@dataclass(frozen=True)
class Term:
    """A recall with its weight in a sum of recalls: a row against a row, or a gain against a gain.

    hits: of each seed, as `hits_by_image` gives, all of the same images and queries. All terms of a sum have
    the same seeds in the same order: models with one seed share first weights, batches and dropout.
    """

    weight: float
    hits: Sequence[pd.DataFrame]


@dataclass(frozen=True)
class Contrast:
    """A sum of weighted recalls, in percentage points, its confidence interval, and the two-sided p of 0."""

    value: float
    low: float
    high: float
    p: float


def contrast(terms: Sequence[Term], metric: str, level: float = 0.95) -> Contrast:
    """A sum of weighted recalls, each the mean over seeds, with a t interval over test images and seeds.

    The variance is that of the mean over images plus that of the mean over seeds, with the degrees of freedom
    of Satterthwaite (1946). Images and seeds are crossed, so variance that neither explains counts in both:
    with seeds that differ little the interval is a little too wide. Seeds are paired: what a seed does to all
    terms alike cancels. With one seed the interval is over images only, and does not tell seeds apart.

    With a single image, the interval is infinite and p is 1.

    Args:
        level: confidence of the interval.
    """
    cells, sums = _cells(terms, metric)
    images, seeds = cells.shape
    value = float(sums.mean())
    if images < 2:
        return Contrast(value, -np.inf, np.inf, 1.0)
    of_images = cells.mean(axis=1).var(ddof=1) / images
    of_seeds = sums.var(ddof=1) / seeds if seeds > 1 else 0.0
    error = np.sqrt(of_images + of_seeds)
    if error < _ROUNDING:  # no image and no seed differs
        return Contrast(value, value, value, float(abs(value) < _ROUNDING))
    freedom = error**4 / (of_images**2 / (images - 1) + of_seeds**2 / max(seeds - 1, 1))
    half = stdtrit(freedom, (1 + level) / 2) * error
    return Contrast(value, value - half, value + half, float(2 * stdtr(freedom, -abs(value) / error)))


def contrast_to_best(terms: Sequence[Term], rivals: Sequence[Sequence[Term]], metric: str) -> Contrast:
    """A sum against the best of several rivals; its value is the difference from the rival that is best here.

    A sum is above the best rival if it is above each: the largest p and the lowest lower end count. It is
    below the best if it is below any. Since the best of equal rivals is best by luck, each rival is a test of
    its own (Bonferroni), and the upper end is the lowest of the wider intervals. With one rival the result is
    that of `contrast`.
    """
    each = [[*terms, *(Term(-term.weight, term.hits) for term in rival)] for rival in rivals]
    found = [contrast(against, metric) for against in each]
    wider = [contrast(against, metric, 1 - 0.05 / len(rivals)) for against in each]
    value = min(one.value for one in found)
    if value > 0:
        p = max(one.p for one in found)
    else:
        p = min(len(rivals) * min(one.p for one in found if one.value <= 0), 1.0)
    return Contrast(value, min(one.low for one in found), min(one.high for one in wider), p)


def _cells(terms: Sequence[Term], metric: str) -> tuple[Array, Array]:
    """For each image and seed, the seed's sum plus the image's first-order effect on it; and the sums.

    Returns:
        cells: (images, seeds), whose mean over images is a seed's sum. sums: (seeds,).
    """
    columns, sums = [], []
    for hits in zip(*(term.hits for term in terms), strict=True):
        total, changes = 0.0, pd.Series(dtype=float)
        for term, each in zip(terms, hits, strict=True):
            total += term.weight * percentages(each)[metric]
            changes = changes.add(term.weight * _deviations(each, metric), fill_value=0.0)
        columns.append(total + len(changes) * changes.to_numpy())
        sums.append(total)
    return np.stack(columns, axis=1), np.array(sums)


def holm(p: Array) -> Array:
    """p of a family of tests, corrected for their number (Holm 1979); NaN stands for no test and stays.

    Args:
        p: (tests,) uncorrected.
    """
    p_holm = np.full(len(p), np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[p[tests].argsort(kind="stable")]
    multiples = p[order] * np.arange(len(order), 0, -1)
    p_holm[order] = np.minimum(np.maximum.accumulate(multiples), 1.0)
    return p_holm


def _deviations(hits: pd.DataFrame, metric: str) -> pd.Series:
    """Each image's first-order effect on a metric, in percent; the sum is 0."""
    changes = []
    for recall in RECALLS if metric == "mR" else (metric,):
        hit, queries = hits[recall].to_numpy(), hits[recall.split("_")[0]].to_numpy()
        share = hit.sum() / queries.sum()
        changes.append(100 * (hit - share * queries) / queries.sum())
    return pd.Series(np.mean(changes, axis=0), hits.index)
