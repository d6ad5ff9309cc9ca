"""Evaluations written by hand: every language of every experiment with recalls that a test chooses."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common.files import sha256
from pipeline.evaluation.evaluate import RANK_COLUMNS
from pipeline.tables.statistics import METRICS

Key = tuple[str, str, str, int]  # data set, experiment, queries, seed
Translations = Mapping[str, Mapping[str, int]]  # captions by origin, for each pair of languages


def write_evaluations(
    folder: Path,
    test: Mapping[Key, Mapping[str, float]],
    images: int = 20,
    sentences: int = 2,
    trained_on: Mapping[Key, Translations] | None = None,
    asked_with: Mapping[Key, Translations] | None = None,
    trained_with: Mapping[Key, Mapping[str, Any]] | None = None,
) -> list[Path]:
    """An evaluation and its ranks for each key, all recalls of a language being the percentage given.

    Chance is 1 to 7 percent in the order of `METRICS`.
    trained_on, asked_with: translations of the models' training captions, and of the test queries.
    trained_with: the models' settings.
    """
    paths = []
    for number, ((dataset, experiment, queries, seed), recalls) in enumerate(test.items()):
        path = folder / f"{number}.json"
        ranks = pd.concat([_ranks(language, value, images, sentences) for language, value in recalls.items()])
        ranks.to_csv(folder / f"{number}-ranks.csv.gz", index=False, compression="gzip")
        content = {
            "dataset": dataset,
            "experiment": experiment,
            "queries": queries,
            "seed": seed,
            "settings": {**(trained_with or {}).get((dataset, experiment, queries, seed), {}), "seed": seed},
            "training_translations": (trained_on or {}).get((dataset, experiment, queries, seed), {}),
            "query_translations": (asked_with or {}).get((dataset, experiment, queries, seed), {}),
            "ranks": f"{number}-ranks.csv.gz",
            "ranks_sha256": sha256(folder / f"{number}-ranks.csv.gz"),
            "test": {
                language: {
                    **dict.fromkeys(METRICS, value),
                    "images": images,
                    "sentences": images * sentences,
                    "chance": {metric: float(number) for number, metric in enumerate(METRICS, 1)},
                }
                for language, value in recalls.items()
            },
        }
        path.write_text(json.dumps(content))
        paths.append(path)
    return paths


def _ranks(language: str, percent: float, images: int, sentences: int) -> pd.DataFrame:
    """The first images are found at once, with all their sentences; the others are the eleventh."""
    rank = np.where(np.arange(images) < round(images * percent / 100), 1, 11)
    names = np.array([f"image{number:05d}" for number in range(images)])
    parts = [
        pd.DataFrame({"direction": way, "image": names.repeat(each), "rank": rank.repeat(each)})
        for way, each in (("i2s", 1), ("s2i", sentences))
    ]
    return pd.concat(parts).assign(language=language)[RANK_COLUMNS]
