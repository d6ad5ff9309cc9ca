"""Uncertainty of recalls and of their differences: bootstrap intervals and a paired test.

An image's captions are similar and thus not independent queries, so an image is resampled, or changes sides,
together with all of its captions. The candidates remain those of the whole split.

The interval of a single recall covers test images only; its standard deviation covers training seeds. A
difference of recalls is judged over images and seeds together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
    """One row per image: hits among the K nearest, a column each of `RECALLS`, and queries, `i2s` and `s2i`.

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
    return sum(hits[1:], hits[0]) / len(hits)


def measured(hits: pd.DataFrame) -> dict[str, float]:
    """The recalls and mR, in percent."""
    return dict(zip(METRICS, _recalls(hits, np.ones((1, len(hits))))[0].tolist(), strict=True))


def intervals(*languages: pd.DataFrame, seed: int = 0, level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Percentile bootstrap intervals of each recall and of mR, in percent, over resampled images.

    Of several languages, those of the recalls' means over languages; a resample has the same images in all.

    Args:
        languages: hits of each language, as `hits_by_image` gives. seed: of the draws. level: share of the
            draws within the interval.
    """
    images = sorted(set().union(*(hits.index for hits in languages)))
    weights = _weights(len(images), seed)
    drawn = np.mean([_recalls(hits.reindex(images, fill_value=0.0), weights) for hits in languages], axis=0)
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {metric: (float(low), float(high)) for metric, low, high in zip(METRICS, *ends, strict=True)}


def contributions(hits: pd.DataFrame, metric: str) -> pd.Series:
    """The contribution of each image to a metric, in percent; they add up to the metric."""
    recalls = RECALLS if metric == "mR" else (metric,)
    # Column by column: for a list of columns pandas takes three times as long, in thousands of calls.
    queries = {way: hits[way].to_numpy().sum() for way in ("i2s", "s2i")}
    found = [100 * hits[recall].to_numpy() / queries[recall.split("_")[0]] for recall in recalls]
    return pd.Series(np.mean(found, axis=0), hits.index)


@dataclass(frozen=True)
class Term:
    """A recall with its weight in a sum of recalls: a row against a row, or a gain against a gain.

    model: what was trained; all terms of one model have the same seeds. hits: of each seed, as
    `hits_by_image` gives, all of the same images and queries.
    """

    weight: float
    model: str
    hits: Sequence[pd.DataFrame]


def difference(terms: Sequence[Term], metric: str) -> float:
    """The sum of weighted recalls, each the mean over its seeds, in percent."""
    return float(sum(values.mean() for values in _of_models(terms, metric).values()))


def difference_interval(
    terms: Sequence[Term], metric: str, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of a sum of weighted recalls, over test images and seeds.

    Each draw samples images with replacement, the same for all terms, and for each model as many seeds as it
    has, with replacement, the same for all terms of the model; models are trained independently, so their
    seeds are drawn independently. With one seed, only images are resampled.

    Args:
        seed: of the draws. level: share of the draws within the interval.
    """
    images = sorted(set().union(*(term.hits[0].index for term in terms)))
    weights = _weights(len(images), seed)
    models = list(dict.fromkeys(term.model for term in terms))
    total = np.zeros(DRAWS)
    for term in terms:
        drawn = _drawn_seeds(len(term.hits), DRAWS, seed, models.index(term.model))
        aligned = (hits.reindex(images, fill_value=0.0) for hits in term.hits)
        recalls = np.stack([_recalls(hits, weights)[:, METRICS.index(metric)] for hits in aligned], axis=1)
        total += term.weight * (drawn * recalls).sum(axis=1)
    low, high = np.quantile(total, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def difference_p(terms: Sequence[Term], metric: str, seed: int = 0) -> float:
    """Two-sided p of a sum of weighted recalls being 0, over test images and seeds (`sign_flip_p`)."""
    parts = weighted_sum([(term.weight, contributions(mean_over_seeds(term.hits), metric)) for term in terms])
    return sign_flip_p(parts.to_numpy(), list(_of_models(terms, metric).values()), seed)


def sign_flip_p(contrast: Sequence[float] | Array, of_seeds: Sequence[Array] = (), seed: int = 0) -> float:
    """Two-sided p of a paired permutation test: under the null hypothesis, each image could swap sides.

    A swap flips the sign of the image's contribution to the difference. Each draw is shifted by the variation
    between seeds: for each model as many seeds as it has are drawn with replacement, and the shift is the
    mean of their contributions minus the mean over all. The observed order counts as one of the draws, so p
    is never 0 (Phipson and Smyth 2010).

    Args:
        contrast: (images,) each image's part in the difference; their sum is the difference.
        of_seeds: for each model what each of its seeds contributes to the difference. None, or one seed
            each: the test is over images alone.
    """
    parts = np.asarray(contrast, dtype=np.float64)
    # Sums that are equal on paper may differ in the last digits.
    observed = abs(parts.sum()) - 1e-9
    drawn = _signs(len(parts), seed) @ parts
    for number, values in enumerate(of_seeds):
        drawn = drawn + _drawn_seeds(len(values), FLIPS, seed, number) @ (values - values.mean())
    return (1 + int((np.abs(drawn) >= observed).sum())) / (1 + FLIPS)


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


def _of_models(terms: Sequence[Term], metric: str) -> dict[str, Array]:
    """For each model what each of its seeds contributes to a sum of weighted recalls."""
    found: dict[str, Array] = {}
    for term in terms:
        values = [term.weight * contributions(hits, metric).sum() for hits in term.hits]
        found[term.model] = found.get(term.model, 0) + np.array(values)
    return found


def _recalls(hits: pd.DataFrame, weights: Array) -> Array:
    """(draws, 7) recalls and mR in percent, for weights (draws, images)."""
    counts = weights @ hits[[*RECALLS, "i2s", "s2i"]].to_numpy()
    # A draw without any query of a direction says nothing of it.
    queries = np.maximum(counts[:, len(RECALLS) :], 1e-12).repeat(len(KS), axis=1)
    found = 100 * counts[:, : len(RECALLS)] / queries
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


@lru_cache(maxsize=64)
def _drawn_seeds(seeds: int, draws: int, seed: int, number: int) -> Array:
    """(draws, seeds) the share of each seed in each draw, of the model with this number."""
    generator = np.random.default_rng([seed, 1 + number])  # apart from the draws of images
    return generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=draws) / seeds
