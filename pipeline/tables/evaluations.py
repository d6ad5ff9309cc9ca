"""Evaluations of experiments, read together with the ranks beside them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.errors import InputError
from pipeline.files import existing
from pipeline.tables.statistics import hits_by_image, mean_over_seeds

Key = tuple[str, str, str]  # data set, experiment, queries


class Evaluations:
    """What `evaluate` made of several experiments, for all of some seeds.

    Args:
        paths: JSON files; each names its file of ranks, which lies beside it.
        seeds: those that a number is the mean over.
    """

    def __init__(self, paths: Sequence[Path], seeds: Sequence[int]):
        self.seeds = list(seeds)
        self._found: dict[tuple[Key, int], tuple[Path, dict[str, Any]]] = {}
        self._ranks: dict[Path, dict[str, pd.DataFrame]] = {}
        self._hits: dict[tuple[Key, str], pd.DataFrame] = {}
        for path in paths:
            existing(path, "the evaluation", "Run its `evaluate`.")
            content = json.loads(path.read_text(encoding="utf-8"))
            key = (content["dataset"], content["experiment"], content["queries"])
            self._found[key, content["seed"]] = path, content

    def missing(self, key: Key, language: str) -> list[str]:
        """The evaluations that a number would need and that are not there."""
        return [
            " ".join([key[0], key[1], str(seed), key[2]])
            for seed in self.seeds
            if language not in self._found.get((key, seed), (None, {"test": {}}))[1]["test"]
        ]

    def values(self, key: Key, language: str, metric: str) -> pd.Series:
        """A metric of each seed, in percent."""
        return pd.Series([self._found[key, seed][1]["test"][language][metric] for seed in self.seeds])

    def origins(self, key: Key, language: str) -> dict[str, set[str]]:
        """Who made the translations that a number depends on, by pair of languages, over all seeds.

        Those that the model was trained on, and those of a translated query from its language.
        """
        found: dict[str, set[str]] = {}
        for seed in self.seeds:
            content = self._found[key, seed][1]
            asked = content["query_translations"].items()
            queries = {pair: origins for pair, origins in asked if pair.startswith(f"{language}-")}
            for counted in (content["training_translations"], queries):
                for pair, origins in counted.items():
                    if origins:
                        found.setdefault(pair, set()).update(origins)
        return found

    def hits(self, key: Key, language: str) -> pd.DataFrame:
        """Hits by image (`statistics.hits_by_image`), their mean over seeds."""
        if (key, language) not in self._hits:
            files = [self._found[key, seed] for seed in self.seeds]
            ranks = [self._read(path.with_name(content["ranks"]), language) for path, content in files]
            self._hits[key, language] = mean_over_seeds(list(map(hits_by_image, ranks)))
        return self._hits[key, language]

    def _read(self, path: Path, language: str) -> pd.DataFrame:
        if path not in self._ranks:
            existing(path, "the file of ranks", "Run its `evaluate`.")
            table = pd.read_csv(path, compression="gzip", dtype={"image": str}, keep_default_na=False)
            self._ranks[path] = {str(name): part for name, part in table.groupby("language")}
        if language not in self._ranks[path]:
            raise InputError(f"{path}: has no ranks of {language!r}, unlike the evaluation beside it.")
        return self._ranks[path][language]
