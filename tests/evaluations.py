"""Hand-written evaluations: each language of each experiment has the recalls that a test chooses."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.evaluation.evaluate import RANK_COLUMNS
from pipeline.settings import reading
from pipeline.tables.claim_terms import Claim, read_claims
from pipeline.tables.result_files import paper_numbers
from pipeline.tables.statistics import METRICS

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "config" / "papers"

Key = tuple[str, str, str, int]  # data set, experiment, queries, seed
Recalls = float | Mapping[str, float]  # recalls of a language in percent: one value for all, or by metric
Translations = Mapping[str, Mapping[str, int]]  # captions by origin, for each pair of languages


def write_evaluations(
    folder: Path,
    test: Mapping[Key, Mapping[str, float]] | Mapping[Key, Mapping[str, Recalls]],
    images: int = 20,
    sentences: int = 2,
    trained_on: Mapping[Key, Translations] | None = None,
    asked_with: Mapping[Key, Translations] | None = None,
    trained_with: Mapping[Key, Mapping[str, Any]] | None = None,
    sampled: Mapping[Key, tuple[int, int]] | None = None,
    parameters: Mapping[Key, int] | None = None,
) -> list[Path]:
    """An evaluation and its ranks for each key.

    Recalls that a language does not list equal its R@10. Chance is 1 to 7 percent in the order of
    `METRICS`.
    trained_on, asked_with: translations of the models' training captions, and of the test queries.
    trained_with: the models' settings. sampled: their training steps and groups of images, by default 1, 1.
    parameters: of the models, by default a million; half of them are left at test time.
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
            "languages": list(recalls),
            "parameters": (parameters or {}).get((dataset, experiment, queries, seed), 10**6),
            "parameters_at_test": (parameters or {}).get((dataset, experiment, queries, seed), 10**6) // 2,
            "training_steps": (sampled or {}).get((dataset, experiment, queries, seed), (1, 1))[0],
            "training_groups": [9] * (sampled or {}).get((dataset, experiment, queries, seed), (1, 1))[1],
            "query_translations": (asked_with or {}).get((dataset, experiment, queries, seed), {}),
            "ranks": f"{number}-ranks.csv.gz",
            "test": {
                language: {
                    **(value if isinstance(value, Mapping) else dict.fromkeys(METRICS, value)),
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


def _ranks(language: str, recalls: Recalls, images: int, sentences: int) -> pd.DataFrame:
    """As many images as R@1 says have rank 1, with all their sentences, and so on."""
    names = np.array([f"image{number:05d}" for number in range(images)])
    parts = []
    for way, each in (("i2s", 1), ("s2i", sentences)):
        found = [round(images * _percent(recalls, way, k) / 100) for k in (1, 5, 10)]
        rank = np.select([np.arange(images) < count for count in found], [1, 5, 10], 11)
        parts.append(pd.DataFrame({"direction": way, "image": names.repeat(each), "rank": rank.repeat(each)}))
    return pd.concat(parts).assign(language=language)[RANK_COLUMNS]


def _percent(recalls: Recalls, way: str, k: int) -> float:
    if not isinstance(recalls, Mapping):
        return recalls
    return recalls.get(f"{way}_R@{k}", recalls.get(f"{way}_R@10", 0.0))


def printed(*tables: str) -> list[dict[str, str]]:
    """The printed recalls of some tables: table, row, method, dataset, language, metric, value."""
    recalls = []
    for table in tables:
        numbers = paper_numbers([PAPERS / f"{table}.csv"])
        for (row, method, column), value in numbers.items():
            place = dict(zip(("dataset", "language", "metric"), column.split(), strict=True))
            recalls.append({"table": table, "row": row, "method": method, **place, "value": value})
    return recalls


@cache
def claims_of(paper: str) -> list[Claim]:
    """The claims of a paper, with those of its published code."""
    experiments = reading.load({"scale": "paper"}).experiments
    return read_claims(ROOT / f"config/claims/{paper}.yaml", experiments)
