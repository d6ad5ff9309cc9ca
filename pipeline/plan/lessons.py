"""Captions, vocabularies and training of the experiments of *Lessons*, which select their captions."""

import re
from functools import cache

from pipeline.datasets.source import PartKeys
from pipeline.plan import paths
from pipeline.plan.plan import Plan, either
from pipeline.plan.sources import public_files_of
from pipeline.plan.words import sentences
from pipeline.settings import stages as configuration
from pipeline.training.settings import CaptionSelection
from pipeline.words.settings import SelectedLanguage, SelectionSettings


def selecting_experiments(plan: Plan) -> str:
    """A regular expression of the experiments that select their captions."""
    names = {name for dataset in plan.datasets for name in configuration.selecting(plan.settings, dataset)}
    return either(sorted(names))


def _is_read(plan: Plan, dataset: str, part: str) -> bool:
    """Whether a data set's source reads a part itself; other parts are taken from its sentences."""
    return part in plan.source(dataset).parts


def part_inputs(plan: Plan, dataset: str, part: str, language: str) -> dict[str, list[str]]:
    """Files that a part is read from, by name: captions, or a split and published files or the project's."""
    if not _is_read(plan, dataset, part):
        return {"sentences": sentences(plan, dataset, language), "split": [], "sources": []}
    source = plan.source(dataset)
    if part not in source.part_files:
        files = [path.format(language=language) for path in source.project_files]
        return {"sentences": [], "split": [], "sources": files}
    pattern = source.part_files[part].format(language=language)
    texts = public_files_of(plan, *source.downloads, *source.further)
    files = [path for path in texts if re.search(pattern, path)]
    return {"sentences": [], "split": [plan.path(paths.SPLIT, dataset=dataset)], "sources": files}


def part_settings(plan: Plan, dataset: str, part: str) -> PartKeys | list[str]:
    """Settings of the source that reads a part; empty for a part of captions."""
    if not _is_read(plan, dataset, part):
        return []
    source, demo = plan.datasets[dataset].source, plan.settings.sources
    if source == "demo":
        return PartKeys(source=source, dataset=dataset, seed=demo.seed, scenes=demo.scenes)
    return PartKeys(source=source)


@cache
def selection(plan: Plan, dataset: str, experiment: str) -> SelectionSettings:
    """Settings of `select-captions`: by language the texts, test captions and halves, as paths."""
    record = configuration.selection_record(plan.settings, dataset, experiment)
    seed = record.sampling_seed
    languages = {}
    for language, of_language in record.languages.items():
        own = f"-{language}" if record.halves == "per_language" else ""
        half = None if of_language.images == "all" else of_language.images
        texts, others = (_texts(plan, dataset, language, of_language, number) for number in (seed, seed + 1))
        languages[language] = SelectedLanguage(
            texts=texts,
            tested_on=plan.path(paths.PART, dataset=dataset, part=of_language.tested_on, language=language),
            halves=plan.path(paths.HALVES, dataset=dataset, seed=seed, suffix=own) if half else None,
            half=half or "first",
            pair_texts={"selected": None, "all_images": texts, "sampled_again": others}[record.pairs_of],
        )
    return SelectionSettings(
        languages=languages, min_count=record.min_count, dimension=plan.settings.words.dimension
    )


def _texts(plan: Plan, dataset: str, language: str, selection: CaptionSelection, seed: int) -> list[str]:
    """The parts of a language, or samples of their captions."""
    each = selection.captions_per_image
    pattern = paths.SAMPLED_PART if each else paths.PART
    return [
        plan.path(pattern, dataset=dataset, language=language, part=part, each=each, seed=seed)
        for part in selection.parts
    ]


def selected_texts(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Files that `select-captions` reads."""
    paths: set[str] = set()
    for texts in selection(plan, dataset, experiment).languages.values():
        paths |= {*texts.texts, *(texts.pair_texts or []), texts.tested_on}
        paths |= {texts.halves} if texts.halves else set()
    return sorted(paths)


def selected_sentences(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Captions of an experiment's languages."""
    return _selected_files(plan, dataset, experiment, "{}.csv")


def selected_words(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Vocabularies of an experiment's languages."""
    return _selected_files(plan, dataset, experiment, "{}.h5")


def selected_pairs(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Captions that are paired with those of another language, if they differ from the selected captions."""
    languages = selection(plan, dataset, experiment).languages.values()
    paired = any(texts.pair_texts is not None for texts in languages)
    return _selected_files(plan, dataset, experiment, "pairs-{}.csv") if paired else []


def _selected_files(plan: Plan, dataset: str, experiment: str, name: str) -> list[str]:
    folder = plan.path(paths.SELECTION, dataset=dataset, experiment=experiment)
    return [f"{folder}/{name.format(code)}" for code in plan.experiment(dataset, experiment).languages]
