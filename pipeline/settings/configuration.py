"""The whole configuration: one attribute for each key of its YAML files."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr

from pipeline.common.block import Seed, Unique, text_check
from pipeline.datasets.settings import Dataset, Scale, Sources
from pipeline.images.settings import Images
from pipeline.models.settings import Consistency
from pipeline.settings.experiment import (
    DatasetExperiment,
    Experiment,
    ExperimentKeys,
    LearningBlocks,
    on_languages,
)
from pipeline.settings.merge import merge
from pipeline.tables.settings import Table
from pipeline.translation.settings import Translation
from pipeline.words.settings import Bert, Words

# Folders of `work` and `results` that are not runs.
_TAKEN = (
    *("demo", "flickr8k", "paper", "logs", "sources", "photographs", "hub", "published"),
    *("lessons", "smalr", "compare", "comparison"),
)


def _taken(name: str) -> str:
    return f"{name} is a folder of other files; take another name" if name in _TAKEN else ""


RunName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$"), text_check(_taken)]
DatasetName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$")]
ExperimentName = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9+-]*$")]
TableName = Annotated[str, Field(pattern="^([A-Za-z0-9_-]+/)?[A-Za-z0-9_-]+$")]


class Configuration(LearningBlocks):
    """Every key of the configuration; its defaults are the papers' sizes, of scale `paper`."""

    scale: Scale
    """demo, flickr8k or paper"""
    name: RunName | None = None
    """of a run whose files are in work/{name} and results/{name}; default: in work/{scale} and results"""
    seeds: Annotated[list[Seed], Field(min_length=1), Unique] = Field(default=[0])
    """seeds; every model is trained with each of them"""
    report: Annotated[list[str], Field(min_length=1), Unique] = Field(default=[])
    """tables to include in results/report.html and results/claims.csv, such as [table2]; default: the tables
    of data sets of source custom, or all if there are none
    """
    tensorboard: bool = False
    """whether trainings write event files, into work/{run}/tensorboard; changes no result and reruns
    nothing
    """
    gpu: Literal[0, 1] = 1
    """0 or 1: GPUs that each extraction or training job requests"""
    datasets: Annotated[dict[DatasetName, Dataset], Field(min_length=1)]
    """the data sets by name"""
    sources: Sources = Field(default_factory=Sources)
    images: Images = Field(default_factory=Images)
    translation: Translation = Field(default_factory=Translation)
    words: Words = Field(default_factory=Words)
    muse: Literal["align", "file"] = "file"
    """align (FastText vectors aligned to the English space with a bilingual dictionary) or file (published
    wiki.multi.XX vectors)
    """
    bert: Bert = Field(default_factory=Bert)
    consistency: Consistency = Field(default_factory=Consistency)
    experiments: dict[ExperimentName, Experiment] = Field(default={})
    """every model that can be trained"""
    tables: dict[TableName, Table] = Field(default={})
    """every table of results"""

    _experiments: dict[str, dict[str, DatasetExperiment]] = PrivateAttr(default_factory=dict)
    _blocks: dict[str, LearningBlocks] = PrivateAttr(default_factory=dict)

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """A copy with some blocks replaced, without the cached results of the original."""
        copy = super().model_copy(update=update, deep=deep)
        copy._experiments, copy._blocks = {}, {}
        return copy

    @property
    def run(self) -> str:
        """The name of the run, or else its scale."""
        return self.name or self.scale

    @property
    def results(self) -> str:
        """The folder of results."""
        return f"results/{self.name}" if self.name else "results"

    def stands_for(self, dataset: str) -> str:
        """The data set of the papers in whose place a data set is used, or its own name."""
        return self.datasets[dataset].stands_for or dataset

    @property
    def stand_ins(self) -> dict[str, str]:
        """The data set of this scale for each data set of the papers; a user's stand for themselves."""
        return {self.stands_for(dataset): dataset for dataset in self.datasets}

    def experiments_on(self, dataset: str) -> dict[str, DatasetExperiment]:
        """Every experiment of a data set by name; one with a model per language has an entry per language.

        Such an entry has only that language (one_per_language), or all and stops on it
        (stop_on_each_language). An experiment has the data set's own languages, or only those that it names;
        with `languages: all` the translated languages too.
        """
        if dataset not in self._experiments:
            entries = [self._entries(dataset, name) for name in self.experiments]
            self._experiments[dataset] = {name: entry for some in entries for name, entry in some.items()}
        return self._experiments[dataset]

    def _entries(self, dataset: str, name: str) -> dict[str, DatasetExperiment]:
        """The entries of one experiment."""
        experiment, data = self.experiments[name], self.datasets[dataset]
        if experiment.languages == "all":
            languages = data.every_language
        else:
            codes = experiment.languages or experiment.selection or data.languages
            languages = [code for code in data.languages if code in codes]
        if experiment.one_per_language:
            return {f"{name}-{code}": on_languages(experiment, [code]) for code in languages}
        if experiment.stop_on_each_language:
            return {f"{name}-{code}": on_languages(experiment, languages, [code]) for code in languages}
        return {name: on_languages(experiment, languages)}

    def blocks_of(self, name: str, experiment: ExperimentKeys) -> LearningBlocks:
        """The blocks of the configuration, with what an experiment overrides.

        Args:
            name: of the experiment, or of its model for a language; the result is cached under it.
        """
        if name not in self._blocks:
            below = self.model_dump(include=set(LearningBlocks.model_fields))
            values = merge(below, experiment.settings)
            self._blocks[name] = LearningBlocks.from_values(values, f"experiments.{name}.settings:")
        return self._blocks[name]
