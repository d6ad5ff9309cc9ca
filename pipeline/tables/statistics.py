"""How sure a recall is, and a difference of recalls: bootstrap intervals and a paired test.

The test images are what is drawn. An image's captions say much the same, so they are no independent queries;
an image is drawn, or changes sides, with all of its captions. The candidates stay those of the whole split.
What another seed of the training would change is not in the interval: its standard deviation says that.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

KS = (1, 5, 10)
RECALLS = tuple(f"{way}_R@{k}" for way in ("i2s", "s2i") for k in KS)
METRICS = (*RECALLS, "mR")

DRAWS = 2000  # of a bootstrap
FLIPS = 10000  # of a test; the smallest p that it can give is 1 / (FLIPS + 1)

Array = NDArray[np.floating[Any]]


def hits_by_image(ranks: pd.DataFrame) -> pd.DataFrame:
    """One row an image: hits among the K nearest, a column each of `RECALLS`, and queries, `i2s` and `s2i`.

    Args:
        ranks: of one language, columns direction, image, rank.
    """
    found = {}
    for way in ("i2s", "s2i"):
        of_way = ranks[ranks["direction"] == way]
        for k in KS:
            found[f"{way}_R@{k}"] = (of_way["rank"] <= k).groupby(of_way["image"]).sum()
        found[way] = of_way.groupby("image").size()
    return pd.DataFrame(found).fillna(0).astype(float).sort_index()


def mean_over_seeds(hits: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The mean of each image's hits over seeds; every seed has the same queries."""
    return pd.concat(hits).groupby(level=0).mean()


def measured(hits: pd.DataFrame) -> dict[str, float]:
    """The recalls and mR, in percent."""
    return dict(zip(METRICS, _recalls(hits, np.ones((1, len(hits))))[0].tolist(), strict=True))


def intervals(hits: pd.DataFrame, seed: int = 0, level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Percentile bootstrap interval of each recall and of mR, in percent; images are drawn with replacement.

    Args:
        hits: as `hits_by_image` gives. seed: of the draws. level: share of the draws within the interval.
    """
    drawn = _recalls(hits, _weights(len(hits), seed))
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {metric: (float(low), float(high)) for metric, low, high in zip(METRICS, *ends, strict=True)}


def contributions(hits: pd.DataFrame, metric: str) -> pd.Series:
    """What each image adds to a metric, in percent: the sum over images is the metric."""
    if metric == "mR":
        return sum((contributions(hits, recall) for recall in RECALLS), pd.Series(0.0, hits.index)) / len(
            RECALLS
        )
    return 100 * hits[metric] / hits[metric.split("_")[0]].sum()


def sign_flip_p(contrast: Sequence[float] | Array, seed: int = 0) -> float:
    """Two-sided p of a paired permutation test: were the two sides alike, each image could swap its own.

    A swap turns the sign of the image's part in the difference. The observed order counts as one of the
    draws, so p is never 0 (Phipson and Smyth 2010).

    Args:
        contrast: (images,) each image's part in the difference; their sum is the difference.
    """
    parts = np.asarray(contrast, dtype=np.float64)
    # Sums that are equal on paper may differ in the last digits.
    observed = abs(parts.sum()) - 1e-9
    beyond = int((np.abs(_signs(len(parts), seed) @ parts) >= observed).sum())
    return (1 + beyond) / (1 + FLIPS)


def holm(p: Array) -> Array:
    """p of several tests of one family, corrected for their number (Holm 1979); NaN is no test, and stays.

    Args:
        p: (tests,) uncorrected.
    """
    corrected = np.full(len(p), np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[p[tests].argsort(kind="stable")]
    scaled = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def weighted_sum(terms: Sequence[tuple[float, pd.Series]]) -> pd.Series:
    """Contributions to several recalls by image, each weighted; an image that one lacks adds 0 to it."""
    total = pd.Series(dtype=float)
    for weight, series in terms:
        total = total.add(weight * series, fill_value=0.0)
    return total


def _recalls(hits: pd.DataFrame, weights: Array) -> Array:
    """(draws, 7) recalls and mR in percent, for weights (draws, images)."""
    counts: Mapping[str, Array] = {name: weights @ hits[name].to_numpy() for name in (*RECALLS, "i2s", "s2i")}
    # A draw without any query of a direction says nothing of it.
    queries = {way: np.maximum(counts[way], 1e-12) for way in ("i2s", "s2i")}
    found = np.stack([100 * counts[name] / queries[name.split("_")[0]] for name in RECALLS], axis=1)
    return np.concatenate([found, found.mean(axis=1, keepdims=True)], axis=1)


@lru_cache(maxsize=4)
def _weights(images: int, seed: int) -> Array:
    """(DRAWS, images) how often each draw has each image."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(images, np.full(images, 1 / images), size=DRAWS).astype(np.float64)


@lru_cache(maxsize=2)
def _signs(images: int, seed: int) -> Array:
    """(FLIPS, images) of 1 and -1; 80 MB for 1,000 images."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 2, (FLIPS, images)) * 2.0 - 1.0
