"""Evaluations of experiments, read with their ranks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import reading, require_file, sha256
from pipeline.tables.statistics import hits_by_image, mean_over_seeds

Key = tuple[str, str, str]  # data set, experiment, queries

QUERIES = ["i2s", "s2i"]


def read_evaluation(path: Path) -> dict[str, Any]:
    """An output of `evaluate`; raises `InputError` if the file is missing or cut."""
    require_file(path, "the evaluation", "Run `python -m pipeline evaluate`.")
    with reading(path, "an evaluation", "Run `python -m pipeline evaluate`."):
        content: dict[str, Any] = json.loads(path.read_bytes())
    return content


class Evaluations:
    """The evaluations of several experiments, each with all seeds.

    Args:
        paths: JSON files; each names its file of ranks in the same folder.
        seeds: the seeds over which a number is averaged.
    """

    def __init__(self, paths: Sequence[Path], seeds: Sequence[int]):
        self.seeds = list(seeds)
        self._contents: dict[tuple[Key, int], tuple[Path, dict[str, Any]]] = {}
        self._ranks: dict[Path, dict[str, pd.DataFrame]] = {}
        self._hits: dict[tuple[Key, str], list[pd.DataFrame]] = {}
        self._galleries: dict[tuple[str, str], tuple[Path, pd.DataFrame]] = {}
        for path in paths:
            content = read_evaluation(path)
            key = (content["dataset"], content["experiment"], content["queries"])
            self._contents[key, content["seed"]] = path, content

    def missing(self, key: Key, language: str) -> list[str]:
        """The evaluations that a number needs and that are missing."""
        return [
            " ".join([key[0], key[1], str(seed), key[2]])
            for seed in self.seeds
            if language not in self._contents.get((key, seed), (None, {"test": {}}))[1]["test"]
        ]

    def values(self, key: Key, language: str, metric: str) -> pd.Series:
        """A metric of each seed, in percent."""
        return pd.Series([self._contents[key, seed][1]["test"][language][metric] for seed in self.seeds])

    def providers(self, key: Key, language: str) -> set[str]:
        """Who made the translations that a number depends on, over all seeds.

        Both the translations that the model was trained on and the translations of queries count.
        """
        providers: set[str] = set()
        for seed in self.seeds:
            content = self._contents[key, seed][1]
            of_queries = content["query_translations"].items()
            asked_with = [by for pair, by in of_queries if pair.startswith(f"{language}-")]
            providers.update(*content["training_translations"].values(), *asked_with)
        return providers

    def sampling(self, key: Key) -> tuple[str, str, str]:
        """Steps of a training, epochs of its pretraining or assignment, and its groups of images.

        Each is the fewest and the most if seeds differ.
        """
        contents = [self._contents[key, seed][1] for seed in self.seeds]
        steps = {content["training_steps"] for content in contents}
        groups = {len(content["training_groups"]) for content in contents}
        return _range(steps), _range(set(map(_pretraining, contents))), _range(groups)

    def size(self, key: Key) -> dict[str, float]:
        """How many languages a model is trained on, and its parameters: mean over seeds."""
        contents = [self._contents[key, seed][1] for seed in self.seeds]
        mean = {
            name: sum(content[name] for content in contents) / len(contents)
            for name in ("parameters", "parameters_at_test")
        }
        return {"trained_languages": len(contents[0]["languages"]), **mean}

    def candidates(self, key: Key, language: str) -> dict[str, Any]:
        """Numbers of `images` and `sentences`, and by metric the chance level among them, in percent."""
        of_language: Mapping[str, Any] = self._contents[key, self.seeds[0]][1]["test"][language]
        return {name: of_language[name] for name in ("images", "sentences", "chance")}

    def hits_of_seeds(self, key: Key, language: str) -> list[pd.DataFrame]:
        """Hits by image (`statistics.hits_by_image`) of each seed, all of the same images and queries."""
        if (key, language) not in self._hits:
            files = [self._contents[key, seed] for seed in self.seeds]
            self._hits[key, language] = [self._of_seed(*file, language) for file in files]
        return self._hits[key, language]

    def hits(self, key: Key, language: str) -> pd.DataFrame:
        """Hits by image, averaged over seeds."""
        return mean_over_seeds(self.hits_of_seeds(key, language))

    def _of_seed(self, evaluation: Path, content: Mapping[str, Any], language: str) -> pd.DataFrame:
        """Hits by image of an evaluation, whose ranks must have the queries of all others of its language."""
        path = evaluation.with_name(content["ranks"])
        hits = hits_by_image(self._read(path, content["ranks_sha256"], language))
        place = (content["dataset"], language)
        first, gallery = self._galleries.setdefault(place, (path, hits[QUERIES]))
        if not hits[QUERIES].equals(gallery):
            raise InputError(
                f"{path} and {first} have other images in {language!r}, so their numbers cannot be compared. "
                "Make the evaluations again: snakemake --forcerun evaluate. If they still differ, so do the "
                "images that failed in their feature sets."
            )
        return hits

    def _read(self, path: Path, digest: str, language: str) -> pd.DataFrame:
        if path not in self._ranks:
            if sha256(require_file(path, "the file of ranks", "Run its `evaluate`.")) != digest:
                raise InputError(
                    f"{path}: does not match the evaluation in the same folder. Run its `evaluate` again."
                )
            table = pd.read_csv(path, compression="gzip", dtype={"image": str}, keep_default_na=False)
            self._ranks[path] = {str(name): part for name, part in table.groupby("language")}
        return self._ranks[path][language]


def _pretraining(content: Mapping[str, Any]) -> int:
    before = (content["settings"].get(stage) for stage in ("pretraining", "assignment"))
    return sum(stage["training"]["epochs"] for stage in before if stage)


def _range(counts: set[int]) -> str:
    """`5 to 8`; a single number if all are equal."""
    return " to ".join(map(str, sorted({min(counts), max(counts)})))
