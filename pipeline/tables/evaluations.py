"""Evaluations of experiments, read with their ranks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import require_file, sha256
from pipeline.tables.statistics import hits_by_image, mean_over_seeds
from pipeline.tables.translations import merged_origins

Key = tuple[str, str, str]  # data set, experiment, queries
Contents = dict[tuple[Key, int], tuple[Path, dict[str, Any]]]

QUERIES = ["i2s", "s2i"]
REQUIRED_KEYS = {
    "dataset", "experiment", "queries", "seed", "settings", "ranks", "ranks_sha256", "test", "training_steps",
    "training_groups",
}  # fmt: skip
# Keys that all seeds of an experiment share.
COMMON = ("settings",)
OTHER_CANDIDATES = (
    "Numbers of one data set and language can be compared only among the same candidates. Make the "
    "evaluations again: snakemake --forcerun evaluate. If they still differ, so do the images that failed in "
    "their feature sets:"
)
OTHER_SETTINGS = (
    "The seeds of one experiment must have the same settings. Train it again with every seed (if only "
    "`pretraining`, `assignment` or `selection` differ, evaluate it again), or leave some seeds out:"
)


def read_evaluation(path: Path) -> dict[str, Any]:
    """An output of `evaluate`; raises `InputError` if the file is missing or something else."""
    require_file(path, "the evaluation", "Run `python -m pipeline evaluate`.")
    try:
        content: dict[str, Any] = dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: not an evaluation ({error}). Run `python -m pipeline evaluate`.") from None
    missing = REQUIRED_KEYS - content.keys()
    if missing:
        raise InputError(
            f"{path}: not an evaluation of this version: {', '.join(sorted(missing))} is missing. Run "
            "`python -m pipeline evaluate`."
        )
    return content


class Evaluations:
    """The evaluations of several experiments, each with all seeds.

    Args:
        paths: JSON files; each names its file of ranks in the same folder.
        seeds: the seeds over which a number is averaged.

    Raises:
        InputError: two evaluations of one data set and language have different numbers of candidates, two
            are of one experiment and seed, or the seeds of one experiment differ in their settings.
    """

    def __init__(self, paths: Sequence[Path], seeds: Sequence[int]):
        self.seeds = list(seeds)
        self._contents: Contents = {}
        self._ranks: dict[tuple[Path, str], dict[str, pd.DataFrame]] = {}  # by path and digest
        self._hits: dict[tuple[Key, str], list[pd.DataFrame]] = {}
        self._galleries: dict[tuple[str, str], tuple[Path, pd.DataFrame]] = {}
        twice: list[str] = []
        for path in paths:
            content = read_evaluation(path)
            key = (content["dataset"], content["experiment"], content["queries"])
            first, _ = self._contents.setdefault((key, content["seed"]), (path, content))
            if first != path:
                twice.append(f"{first} and {path}: both are {' '.join(key)} seed {content['seed']}")
        raise_together(twice, "One evaluation of each experiment and seed can be used:")
        raise_together(_other_settings(self._contents), OTHER_SETTINGS)
        raise_together(_other_candidates(self._contents), OTHER_CANDIDATES)

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

    def origins(self, key: Key, language: str) -> dict[str, set[str]]:
        """Who made the translations that a number depends on, by pair of languages, over all seeds.

        Both the translations that the model was trained on and the translations of queries count.
        """
        of_seeds = []
        for seed in self.seeds:
            content = self._contents[key, seed][1]
            queries = content["query_translations"].items()
            of_seeds.append(content["training_translations"])
            of_seeds.append({pair: by for pair, by in queries if pair.startswith(f"{language}-")})
        return {pair: made_by for pair, made_by in merged_origins(of_seeds).items() if made_by}

    def sampling(self, key: Key) -> tuple[str, str]:
        """Steps of a training (the fewest and the most if seeds differ), and its groups of images."""
        contents = [self._contents[key, seed][1] for seed in self.seeds]
        steps = {content["training_steps"] for content in contents}
        groups = {len(content["training_groups"]) for content in contents}
        return _range(steps), _range(groups)

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
            raise InputError(f"{OTHER_CANDIDATES}\n  {path} and {first} have other images in {language!r}")
        return hits

    def _read(self, path: Path, digest: str, language: str) -> pd.DataFrame:
        by_language = self._ranks.get((path, digest))
        if by_language is None:
            if sha256(require_file(path, "the file of ranks", "Run its `evaluate`.")) != digest:
                raise InputError(
                    f"{path}: does not match the evaluation in the same folder. Run its `evaluate` again."
                )
            table = pd.read_csv(path, compression="gzip", dtype={"image": str}, keep_default_na=False)
            by_language = {str(name): part for name, part in table.groupby("language")}
            self._ranks[path, digest] = by_language
        if language not in by_language:
            raise InputError(
                f"{path}: has no ranks of {language!r}, unlike the evaluation in the same folder."
            )
        return by_language[language]


def _range(counts: set[int]) -> str:
    """`5 to 8`; a single number if all are equal."""
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def _other_candidates(contents: Contents) -> Iterator[str]:
    """A line for each data set and language with evaluations among different numbers of candidates."""
    sizes: dict[tuple[str, str], dict[tuple[int, int], list[Path]]] = {}
    for ((dataset, _, _), _), (path, content) in contents.items():
        for language, values in content["test"].items():
            size = values["images"], values["sentences"]
            sizes.setdefault((dataset, language), {}).setdefault(size, []).append(path)
    for (dataset, language), paths in sizes.items():
        if len(paths) > 1:
            sizes_in_words = [
                f"{images} images and {sentences} sentences in {', '.join(map(str, of_size[:3]))}"
                + (f" and {len(of_size) - 3} more" if len(of_size) > 3 else "")
                for (images, sentences), of_size in paths.items()
            ]
            yield f"{dataset} {language}: {'; '.join(sizes_in_words)}"


def _other_settings(contents: Contents) -> Iterator[str]:
    """A line for each evaluation with other settings than its experiment's first evaluation."""
    firsts: dict[Key, tuple[Path, dict[str, Any]]] = {}
    for (key, _), (path, content) in contents.items():
        first, first_content = firsts.setdefault(key, (path, content))
        first_settings, other = _by_key(first_content), _by_key(content)
        differing = [
            f"{name} is {first_settings.get(name)} in {first} and {other.get(name)} in {path}"
            for name in sorted(first_settings.keys() | other.keys())
            if first_settings.get(name) != other.get(name)
        ]
        if differing:
            yield "; ".join(differing)


def _by_key(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the seeds of an experiment have in common, nested keys as `settings.training.epochs`."""
    common = {key: content[key] for key in COMMON if key in content}
    return {key: value for key, value in _flat(common) if key.split(".")[-1] != "seed"}


def _flat(content: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
