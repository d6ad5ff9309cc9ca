"""The configuration and its surroundings, which determine every job."""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.datasets.settings import Dataset
from pipeline.datasets.source import Source
from pipeline.datasets.sources import source_named
from pipeline.settings.configuration import Configuration
from pipeline.settings.experiment import DatasetExperiment
from pipeline.tables.settings import Table


class NamedFiles(dict[str, list[str]]):
    """Files of a job by names, which its command reads as NAME=FILE."""

    @property
    def files(self) -> list[str]:
        """The files themselves, the job's inputs."""
        return [path for paths in self.values() for path in paths]

    @property
    def arguments(self) -> list[str]:
        """The files with their names."""
        return [f"{name}={path}" for name, paths in self.items() for path in paths]


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


def files_in(folder: str, pattern: str = "*") -> list[str]:
    """The files of a folder; empty if it is not a folder.

    Jobs depend on them, since overwriting a file does not change its folder's time.
    """
    return sorted(str(path) for path in Path(folder).glob(pattern) if path.is_file())


def either(names: Iterable[str]) -> str:
    """A regular expression that matches the names; without names it matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"
