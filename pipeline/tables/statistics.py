"""Recalls from hits by image, and bootstrap intervals of a row of a table.

An image's captions are similar and thus not independent queries, so an image is resampled together with all
of its captions. The candidates remain those of the whole split.

The interval of a single recall covers test images only; its standard deviation covers training seeds. The
module `contrasts` judges a difference of recalls over images and seeds together.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

KS = (1, 5, 10)
RECALLS = tuple(f"{way}_R@{k}" for way in ("i2s", "s2i") for k in KS)
METRICS = (*RECALLS, "mR")

DRAWS = 2000  # resamples of a bootstrap

Array = NDArray[np.floating[Any]]


def hits_by_image(ranks: pd.DataFrame) -> pd.DataFrame:
    """One row per image: hits among the K nearest, a column each of `RECALLS`, and queries, `i2s` and `s2i`.

    Args:
        ranks: of one language, columns direction, image, rank.
    """
    hits = {}
    for way in ("i2s", "s2i"):
        of_way = ranks[ranks["direction"] == way]
        for k in KS:
            hits[f"{way}_R@{k}"] = (of_way["rank"] <= k).groupby(of_way["image"]).sum()
        hits[way] = of_way.groupby("image").size()
    return pd.DataFrame(hits).fillna(0).astype(float).sort_index()


def mean_over_seeds(hits: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The mean of each image's hits over seeds; every seed has the same queries."""
    return sum(hits[1:], hits[0]) / len(hits)


def percentages(hits: pd.DataFrame) -> dict[str, float]:
    """The recalls and mR, in percent."""
    return dict(zip(METRICS, _recalls(hits, np.ones((1, len(hits))))[0].tolist(), strict=True))


def intervals(*languages: pd.DataFrame, level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Percentile bootstrap intervals of each recall and of mR, in percent, over resampled images.

    For several languages, intervals of the recalls' means over languages; a resample has the same images in
    all.

    Args:
        languages: hits of each language, as `hits_by_image` gives. level: share of the draws within the
            interval.
    """
    images = sorted(set().union(*(hits.index for hits in languages)))
    weights = _weights(len(images))
    samples = np.mean([_recalls(hits.reindex(images, fill_value=0.0), weights) for hits in languages], axis=0)
    ends = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {metric: (float(low), float(high)) for metric, low, high in zip(METRICS, *ends, strict=True)}


def _recalls(hits: pd.DataFrame, weights: Array) -> Array:
    """(draws, 7) recalls and mR in percent, for weights (draws, images)."""
    counts = weights @ hits[[*RECALLS, "i2s", "s2i"]].to_numpy()
    # A resample without any query of a direction is ignored for it.
    queries = np.maximum(counts[:, len(RECALLS) :], 1e-12).repeat(len(KS), axis=1)
    recalls = 100 * counts[:, : len(RECALLS)] / queries
    return np.concatenate([recalls, recalls.mean(axis=1, keepdims=True)], axis=1)


@lru_cache(maxsize=4)
def _weights(images: int) -> Array:
    """(DRAWS, images) how often each draw has each image."""
    generator = np.random.default_rng(0)
    return generator.multinomial(images, np.full(images, 1 / images), size=DRAWS).astype(np.float64)
