"""Evaluations of experiments, read with their ranks."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.tables.statistics import hits_by_image, mean_over_seeds

Key = tuple[str, str, str]  # data set, experiment, queries
Place = tuple[Key, str]  # an evaluation and one of its languages
Content = Mapping[str, Any]

QUERIES = ["i2s", "s2i"]
PARAMETERS = ["parameters", "parameters_at_test"]
DICTIONARY = "dictionary"  # origin of word-by-word translations


class Evaluations:
    """The evaluations of several experiments, each with all seeds.

    Args:
        paths: JSON files; each names its file of ranks in the same folder.
        seeds: the seeds over which a number is averaged; default: all seeds of the files.

    Raises:
        InputError: two files are of the same experiment, queries and seed.
    """

    def __init__(self, paths: Sequence[Path], seeds: Collection[int] | None = None):
        self.contents: dict[Path, Content] = {path: json.loads(path.read_bytes()) for path in paths}
        self._paths: dict[tuple[Key, int], Path] = {}
        for path, content in self.contents.items():
            other = self._paths.setdefault((key_of(content), content["seed"]), path)
            if other != path:
                raise InputError(f"{path} and {other}: the same experiment and seed. Rename one experiment.")
        self.seeds = sorted({seed for _, seed in self._paths} if seeds is None else seeds)
        self._hits: dict[Path, dict[str, pd.DataFrame]] = {}
        self._galleries: dict[tuple[str, str], tuple[Path, pd.DataFrame]] = {}

    def has(self, key: Key, language: str) -> bool:
        """Whether every seed has a model's recalls in a language."""
        paths = [self._paths.get((key, seed)) for seed in self.seeds]
        return all(path and language in self.contents[path]["test"] for path in paths)

    def table(self, places: Iterable[Place]) -> pd.DataFrame:
        """A line for each place and seed: `key`, `seed`, recalls and chance levels in percent, and sizes.

        The columns of chance levels are named `chance mR`. `trained_languages` counts the languages of the
        model, `parameters_at_test` those of its parameters that are left if word vectors are precomputed.
        """
        lines: list[dict[str, Any]] = []
        for key, language in places:
            for content in self._of(key, language):
                line = {
                    **content["test"][language],
                    **{name: content[name] for name in ("seed", *PARAMETERS)},
                }
                chance = {f"chance {metric}": level for metric, level in line.pop("chance").items()}
                lines.append({**line, **chance, "key": key, "trained_languages": len(content["languages"])})
        return pd.DataFrame(lines)

    def providers(self, key: Key, language: str) -> set[str]:
        """Who made the translations that a number depends on, over all seeds.

        Both the translations that the model was trained on and the translations of queries count.
        """
        providers: set[str] = set()
        for content in self._of(key):
            of_queries = content["query_translations"].items()
            asked_with = [by for pair, by in of_queries if pair.startswith(f"{language}-")]
            providers.update(*content["training_translations"].values(), *asked_with)
        return providers

    def sampling(self, key: Key) -> tuple[str, str, str]:
        """Steps of a training, epochs of its pretraining or assignment, and its groups of images.

        Each is the fewest and the most if seeds differ.
        """
        contents = self._of(key)
        steps = {content["training_steps"] for content in contents}
        groups = {len(content["training_groups"]) for content in contents}
        return _range(steps), _range(set(map(_pretraining, contents))), _range(groups)

    def hits_of_seeds(self, key: Key, language: str) -> list[pd.DataFrame]:
        """Hits by image (`statistics.hits_by_image`) of each seed, all of the same images and queries.

        Raises:
            InputError: another evaluation in this language is of other images.
        """
        return [self._hits_of(path, language) for path in self._paths_of(key, language)]

    def hits(self, key: Key, language: str) -> pd.DataFrame:
        """Hits by image, averaged over seeds."""
        return mean_over_seeds(self.hits_of_seeds(key, language))

    def _paths_of(self, key: Key, language: str = "") -> list[Path]:
        for seed in self.seeds:
            path = self._paths.get((key, seed))
            if not path or (language and language not in self.contents[path]["test"]):
                raise InputError(f"the evaluation of {' '.join((*key, language))}, seed {seed}, is missing.")
        return [self._paths[key, seed] for seed in self.seeds]

    def _of(self, key: Key, language: str = "") -> list[Content]:
        return [self.contents[path] for path in self._paths_of(key, language)]

    def _hits_of(self, path: Path, language: str) -> pd.DataFrame:
        content = self.contents[path]
        ranks = path.with_name(content["ranks"])
        if path not in self._hits:
            table = pd.read_csv(ranks, compression="gzip", dtype={"image": str}, keep_default_na=False)
            self._hits[path] = {str(code): hits_by_image(part) for code, part in table.groupby("language")}
        hits = self._hits[path][language]
        first, gallery = self._galleries.setdefault((content["dataset"], language), (ranks, hits[QUERIES]))
        if not hits[QUERIES].equals(gallery):
            raise InputError(
                f"{ranks} and {first} have other images in {language!r}, so their numbers cannot be "
                "compared. Make the evaluations again: snakemake --forcerun evaluate. If they still differ, "
                "so do the images that failed in their feature sets."
            )
        return hits


def key_of(content: Content) -> Key:
    """What an evaluation is of."""
    return content["dataset"], content["experiment"], content["queries"]


def provider_label(providers: Collection[str]) -> str:
    """The providers of some translations: `dictionary (word by word), google`; empty without translations."""
    return ", ".join(f"{one} (word by word)" if one == DICTIONARY else one for one in sorted(providers))


def word_by_word(providers: Collection[str]) -> str:
    """`yes` if some of the translations were made word by word, else empty."""
    return "yes" if DICTIONARY in providers else ""


def _pretraining(content: Content) -> int:
    before = (content["settings"].get(stage) for stage in ("pretraining", "assignment"))
    return sum(stage["training"]["epochs"] for stage in before if stage)


def _range(counts: set[int]) -> str:
    """`5 to 8`; a single number if all are equal."""
    return " to ".join(map(str, sorted({min(counts), max(counts)})))
