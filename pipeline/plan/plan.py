"""The configuration and its surroundings, which determine every job."""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.settings import Dataset
from pipeline.datasets.source import Source
from pipeline.datasets.sources import source_named
from pipeline.plan import paths
from pipeline.settings.configuration import Configuration
from pipeline.settings.experiment import DatasetExperiment


@dataclass(frozen=True, eq=False)
class Plan:
    """The whole configuration, and what determines every job with it."""

    settings: Configuration

    @cached_property
    def sources(self) -> dict[str, dict[str, str]]:
        """Rows of workflow/sources.csv by file; an empty `url` there is `https://` and the file."""
        with open(paths.SOURCES_TABLE, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {row["file"]: {**row, "url": row["url"] or f"https://{row['file']}"} for row in rows}

    @property
    def datasets(self) -> dict[str, Dataset]:
        return self.settings.datasets

    def stand_in(self, *papers: str) -> str:
        """The data set that stands for the first of some data sets of the papers; raises `InputError`."""
        stand_ins = self.settings.stand_ins
        if found := [stand_ins[name] for name in papers if name in stand_ins]:
            return found[0]
        raise InputError(f"no data set of the configuration stands for {' or '.join(papers)}.")

    def path(self, pattern: str, **names: object) -> str:
        """A path of this run, of `pipeline.plan.paths`, with its other names filled in."""
        return pattern.format(run=self.settings.run, **names)

    def source(self, dataset: str) -> Source:
        """The source of a data set's captions."""
        return source_named(self.datasets[dataset].source)

    def experiment(self, dataset: str, experiment: str) -> DatasetExperiment:
        """An experiment's entry in config/experiments.yaml, with its languages."""
        return self.settings.experiments_on(dataset)[experiment]


def files_in(folder: str, pattern: str = "*") -> list[str]:
    """The files of a folder; empty if it is not a folder.

    Jobs depend on them, since overwriting a file does not change its folder's time.
    """
    return sorted(str(path) for path in Path(folder).glob(pattern) if path.is_file())


def either(names: Iterable[str]) -> str:
    """A regular expression that matches the names; without names it matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"
