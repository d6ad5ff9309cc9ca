"""Captions, vocabularies and training of the experiments of *Lessons*, which select their captions."""

import re

from pipeline.datasets.source import StageKeys
from pipeline.plan import paths
from pipeline.plan.captions import caption_sources, stage_keys
from pipeline.plan.plan import Plan, either
from pipeline.plan.sources import public_files_of
from pipeline.plan.words import selected_files, sentences
from pipeline.settings import stages as stage_settings


def selecting_experiments(plan: Plan) -> str:
    """A regular expression of the experiments that select their captions."""
    every = (item for dataset in plan.datasets for item in plan.settings.experiments_on(dataset).items())
    return either(sorted({name for name, experiment in every if experiment.selection}))


def _is_read(plan: Plan, dataset: str, part: str) -> bool:
    """Whether a data set's source reads a part itself; other parts are taken from its sentences."""
    return part in plan.source(dataset).parts


def part_inputs(plan: Plan, dataset: str, part: str, language: str) -> dict[str, list[str]]:
    """Files that a part is read from, by name: captions, or a split and published files or the project's."""
    if not _is_read(plan, dataset, part):
        return {"sentences": sentences(plan, dataset, language), "split": [], "sources": []}
    source = plan.source(dataset)
    if part not in source.part_files:
        return {"sentences": [], "split": [], "sources": caption_sources(plan, dataset, language)}
    pattern = source.part_files[part].format(language=language)
    texts = public_files_of(plan, *source.downloads, *source.further)
    files = [path for path in texts if re.search(pattern, path)]
    return {"sentences": [], "split": [plan.path(paths.SPLIT, dataset=dataset)], "sources": files}


def part_settings(plan: Plan, dataset: str, part: str) -> StageKeys | list[str]:
    """Settings of the source that reads a part; empty for a part of captions."""
    return stage_keys(plan, dataset) if _is_read(plan, dataset, part) else []


def selected_parts(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """The parts that an experiment's captions are selected from."""
    selection = plan.experiment(dataset, experiment).selection or {}
    return [
        plan.path(paths.PART, dataset=dataset, part=part, language=language)
        for language in plan.experiment(dataset, experiment).languages
        for part in sorted({*selection[language].parts, selection[language].tested_on})
    ]


def selected_pairs(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Captions that are paired with those of another language, if they differ from the selected captions."""
    record = stage_settings.selection_record(plan.settings, dataset, experiment)
    return selected_files(plan, dataset, experiment, "pairs-{}.csv") if record.pairs_of != "selected" else []
