"""The configuration and its surroundings, which determine every job."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.datasets.settings import Dataset
from pipeline.datasets.source import Source
from pipeline.datasets.sources import source_named
from pipeline.settings import Configuration, DatasetExperiment
from pipeline.tables.settings import Table

Inputs = Mapping[str, str | Sequence[str]]  # files of a job, by name


@dataclass(frozen=True, eq=False)
class Plan:
    """The configuration and what surrounds it.

    settings: the whole configuration. folder: config/. sources: rows of workflow/sources.csv by file.
    """

    settings: Configuration
    folder: Path
    sources: Mapping[str, Mapping[str, str]]

    @property
    def scale(self) -> str:
        return self.settings.scale

    @property
    def datasets(self) -> dict[str, Dataset]:
        return self.settings.datasets

    @property
    def tables(self) -> dict[str, Table]:
        return self.settings.tables

    @property
    def stand_ins(self) -> dict[str, str]:
        """The data set of this scale for each data set of the papers."""
        return self.settings.stand_ins

    def path(self, pattern: str, **names: object) -> str:
        """A path of this scale, of `pipeline.plan.paths`, with its other names filled in."""
        return pattern.format(scale=self.scale, **names)

    def source(self, dataset: str) -> Source:
        """The source of a data set's captions."""
        return source_named(self.datasets[dataset].source)

    def experiment(self, dataset: str, experiment: str) -> DatasetExperiment:
        """An experiment's entry in config/experiments.yaml, with its languages."""
        return self.settings.experiments_on(dataset)[experiment]


def published_sources(path: Path) -> dict[str, dict[str, str]]:
    """Rows of workflow/sources.csv by file; an empty `url` there is `https://` and the file."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["file"]: {**row, "url": row["url"] or f"https://{row['file']}"} for row in rows}


def input_arguments(inputs: Inputs, options: Mapping[str, str]) -> list[str]:
    """Arguments for the files of a job that only some jobs of its rule have.

    Separate from other arguments: Snakemake reruns no job for a parameter that follows from its input.

    Args:
        inputs: the job's files, by name. options: the option of each name.
    """
    return [
        f"{option}={path}"
        for name, option in options.items()
        if name in inputs.keys()  # noqa: SIM118 - a list of Snakemake's has names as its keys
        for path in _as_list(inputs[name])
    ]


def _as_list(paths: str | Sequence[str]) -> Sequence[str]:
    return [paths] if isinstance(paths, str) else paths


def files_in(folder: str, pattern: str = "*") -> list[str]:
    """The files of a folder; empty if it is not a folder.

    Jobs depend on them, since overwriting a file does not change its folder's time.
    """
    return sorted(str(path) for path in Path(folder).glob(pattern) if path.is_file())


def either(names: Iterable[str]) -> str:
    """A regular expression that matches the names; without names it matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"
