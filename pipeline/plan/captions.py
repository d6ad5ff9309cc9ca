"""Inputs and arguments of splits and captions."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.datasets.source import KeyGroups, StageKeys
from pipeline.datasets.sources import source_named
from pipeline.plan import paths
from pipeline.plan.cells import experiments_on
from pipeline.plan.plan import Plan, files_in
from pipeline.plan.sources import archives_at, public_files_of, published_texts, requested_path
from pipeline.settings.translations import translated_origins


@cache
def coverage_of(plan: Plan, dataset: str) -> dict[str, dict[str, int]]:
    """Numbers of images with captions of a user's own, by language and split."""
    # pandas is imported only where there are captions of the user's own.
    from pipeline.datasets.coverage import coverage

    image_list = plan.settings.images.list
    return coverage(plan.datasets[dataset], Path(image_list) if image_list else None)


def check_coverage(plan: Plan) -> None:
    """Check that a user's own captions cover every split; raises `InputError` that lists every gap."""
    from pipeline.datasets.coverage import missing_captions

    gaps: list[str] = []
    for name, data in plan.datasets.items():
        if data.source == "custom":
            gaps += missing_captions(name, coverage_of(plan, name), _languages_trained_on(plan, name))
    raise_together(gaps, "Captions of your own do not cover every split:")


def _languages_trained_on(plan: Plan, dataset: str) -> set[str]:
    """Languages in which an experiment of the configured tables trains on the data set's own captions."""
    every = plan.settings.experiments_on(dataset)
    return {
        language
        for name in experiments_on(plan, dataset)
        for language in every[name].languages
        if every[name].captions != "mt" or language == "en"
    }


def caption_tables(plan: Plan, dataset: str) -> list[str]:
    """The caption tables of a data set, in the order of its languages."""
    return [
        plan.path(paths.CAPTIONS, dataset=dataset, language=language)
        for language in plan.datasets[dataset].languages
    ]


def tokens(plan: Plan, dataset: str, languages: Iterable[str]) -> list[str]:
    """Tokenised captions of some languages of a data set; for a translated language, its translations."""
    own = plan.datasets[dataset].languages
    return [
        plan.path(paths.TOKENS, dataset=dataset, language=code)
        if code in own
        else plan.path(paths.TRANSLATIONS, dataset=dataset, source="en", target=code)
        for code in languages
    ]


def own_tokens(plan: Plan, dataset: str) -> list[str]:
    """Tokenised captions of a data set's own languages."""
    return tokens(plan, dataset, plan.datasets[dataset].languages)


# Splits.


def split_sources(plan: Plan, dataset: str) -> list[str]:
    """Published files that a data set's split is read from, or the user's own file."""
    data, source = plan.datasets[dataset], plan.source(dataset)
    if data.split and not source.splits:
        return [data.split]
    if data.source == "custom":
        return [str(data.captions)]
    if source.project_files:
        return [paths.DEMO_DATASETS]
    return _matching(published_texts(plan, data), source.split_files)


def split_settings(plan: Plan, dataset: str) -> StageKeys:
    """Settings of `split`, of a data set's source."""
    return stage_keys(plan, dataset, plan.source(dataset).split_keys)


def stage_keys(plan: Plan, dataset: str, groups: KeyGroups = ()) -> StageKeys:
    """Settings of a stage that reads a data set's source: some of its keys, or the demo's scenes."""
    data, demo = plan.datasets[dataset], plan.settings.sources
    if data.source == "demo":
        return StageKeys(source=data.source, dataset=dataset, seed=demo.seed, scenes=demo.scenes)
    return data.only(groups)


# Captions.


def caption_sources(plan: Plan, dataset: str, language: str) -> list[str]:
    """Published files that the captions in a language are read from, the user's own table, or the demo's."""
    data, source = plan.datasets[dataset], plan.source(dataset)
    if data.source == "custom":
        return [str(data.captions).replace("{language}", language)]
    if source.project_files:
        return [paths.own(path).format(language=language) for path in source.project_files]
    pattern = source.caption_files.get(language)
    return _matching(published_texts(plan, data), pattern) if pattern else []


def caption_settings(plan: Plan, dataset: str) -> StageKeys:
    """Settings of `read-captions`, of a data set's source."""
    return stage_keys(plan, dataset, plan.source(dataset).caption_keys)


def captioned_images(plan: Plan, dataset: str, language: str) -> str:
    """Arguments of `read-captions` where only a fraction of the training images has captions."""
    fraction = plan.datasets[dataset].captioned_images.get(language, 1)
    origin = own_origin(plan, dataset, language)
    return f"--captioned-images {fraction:g} --origin {origin}" if fraction < 1 else ""


def multi30k_text(plan: Plan, language: str) -> list[str]:
    """Multi30K's published captions in a language."""
    pattern = source_named("multi30k").caption_files[language]
    return _matching(public_files_of(plan, "multi30k"), pattern)


def all_splits(plan: Plan) -> list[str]:
    """The splits of every data set of this scale."""
    return [plan.path(paths.SPLIT, dataset=dataset) for dataset in plan.datasets]


def _matching(paths: Iterable[str], pattern: str) -> list[str]:
    return [path for path in paths if re.search(pattern, path)]


def requested_of_split(plan: Plan, dataset: str) -> list[str]:
    """Data on request that a split is read from: COCO-CN, whose images MSCOCO is tested with.

    After a folder come its files that are read, since their changes do not change the folder's time.
    """
    on_request = plan.source(dataset).on_request
    if not on_request:
        return []
    path = requested_path(plan, on_request.key)
    archives = archives_at(path)
    data = archives[0] if len(archives) == 1 else path
    return [data, *files_in(data, on_request.files)]


def requested_of_captions(plan: Plan, dataset: str, language: str) -> list[str]:
    """Data on request, if the captions in a language are read from them."""
    on_request = plan.source(dataset).on_request
    return requested_of_split(plan, dataset) if on_request and language in on_request.languages else []


def own_origin(plan: Plan, dataset: str, language: str) -> str:
    """Origin of a language's own captions."""
    return plan.datasets[dataset].caption_origins.get(language, "human")


def caption_origin(plan: Plan, dataset: str, language: str) -> str:
    """Origin of a language's own captions, or the provider of all its translations."""
    own = plan.datasets[dataset].caption_origins
    of_translations = translated_origins(plan.settings, dataset)
    return {**own, **of_translations}.get(language, "human")
