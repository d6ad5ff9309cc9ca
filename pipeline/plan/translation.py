"""Inputs, arguments and resources of translations, by data set and pair of languages."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pipeline import digest as code
from pipeline import registry
from pipeline.common.errors import InputError
from pipeline.plan import paths
from pipeline.plan.captions import all_splits, tokens
from pipeline.plan.plan import Plan, files_in
from pipeline.plan.sources import DICTIONARIES
from pipeline.settings.translations import (
    is_borrowed,
    needs_query_translation,
    require_providers,
    via_english,
)
from pipeline.translation.settings import (
    DictionaryProvider,
    FilesProvider,
    LocalModel,
    MarianProvider,
    Provider,
    ServiceProvider,
    TrainedProvider,
)

Files = dict[str, list[str]]  # of a job, by name

# The files that some translation or its measurement reads; the model's files are not among its arguments.
_NAMES = (
    "captions", "images", "sentences", "target_sentences", "dictionaries", "translator", "model", "task1"
)  # fmt: skip
NOTHING: Files = {name: [] for name in _NAMES}


@dataclass(frozen=True)
class TranslationJob:
    """A job that translates, or measures translations.

    settings: of its provider; None if only published translations are measured. inputs: its files by name.
    arguments: others than files and settings. gpu: GPUs that a job requests, by the configuration.
    """

    stage: str
    source: str
    settings: Provider | None
    inputs: Files
    arguments: list[str]
    gpu: int

    @property
    def provider(self) -> str:
        return self.settings.provider if self.settings else "files"

    @property
    def options(self) -> list[str]:
        """Arguments that are no files."""
        return [*([f"--settings={self.settings.as_json()}"] if self.settings else []), *self.arguments]

    @property
    def code(self) -> str:
        """Digest of the code that runs."""
        return code.digest(self.stage, *registry.of_translation(self.provider))

    @property
    def minutes(self) -> int:
        """The time limit in minutes, which is long because of the limits on requests."""
        return 1440 if isinstance(self.settings, LocalModel | ServiceProvider) else 60

    @property
    def services(self) -> int:
        """The number of web services that are used."""
        return 1 if isinstance(self.settings, ServiceProvider) else 0

    @property
    def gpus(self) -> int:
        return self.gpu if isinstance(self.settings, LocalModel) else 0


@cache
def translation(plan: Plan, dataset: str, queried: str, source: str, target: str) -> TranslationJob:
    """The translation of a data set's captions from one language into another.

    Args:
        queried: empty, or `queries/`: only of validation and test captions, as queries, which are translated
            into English first if no provider translates the pair itself.
    """
    data, splits = plan.datasets[dataset], ["--splits", "val", "test"] if queried else []
    origin, sentences = data.caption_origins.get(source, "human"), tokens(plan, dataset, [source])
    onward = bool(queried) and via_english(plan.settings, dataset, f"{source}-{target}")
    if onward:
        origin = _provider(plan, dataset, f"{source}-en").origin
        sentences, source = query_tables(plan, dataset, [f"{source}-en"]), "en"
    if not queried and is_borrowed(plan.settings, dataset, f"{source}-{target}"):
        loan = data.borrowed_translations[target]
        settings: Provider = FilesProvider(provider="files", origin=loan.origin)
        captions = plan.path(paths.CAPTIONS, dataset=loan.dataset, language=target)
        files = {"captions": [captions], "images": [plan.path(paths.SPLIT, dataset=dataset)]}
    elif isinstance(settings := _provider(plan, dataset, f"{source}-{target}", onward), FilesProvider):
        files = {"captions": [plan.path(paths.CAPTIONS, dataset=dataset, language=target)]}
    else:
        files = {"sentences": sentences} | _of_translator(plan, dataset, settings, source, target)
    arguments = [f"--source-origin={origin}", *splits]
    return TranslationJob("translate", source, settings, NOTHING | files, arguments, plan.settings.gpu)


@cache
def measurement(plan: Plan, dataset: str, source: str, target: str) -> TranslationJob:
    """The quality of a pair's translations, measured against human translations if the data set has any."""
    of, settings, files, arguments = plan.source(dataset), None, NOTHING, []
    if of.parallel_files:
        files, arguments = NOTHING | {"task1": _task1(plan, dataset)}, [f"--multi30k={paths.SOURCES}"]
    elif of.human_translations:
        captions = [plan.path(paths.CAPTIONS, dataset=dataset, language=code) for code in (source, target)]
        files = NOTHING | {"captions": captions}
    if files is not NOTHING:
        settings = _provider(plan, dataset, f"{source}-{target}")
        files = files | _of_translator(plan, dataset, settings, source, target)
    stage = "measure-translation-quality"
    return TranslationJob(stage, source, settings, files, arguments, plan.settings.gpu)


def _provider(plan: Plan, dataset: str, pair: str, onward: bool = False) -> Provider:
    """The provider of a pair; the default provides it if published translations are of other captions.

    Args:
        onward: whether queries are translated that were translated into English before.
    """
    require_providers(plan.settings, [(dataset, pair)])
    others, configured = onward or is_borrowed(plan.settings, dataset, pair), plan.settings.translation
    for provider in (configured.provider_of(pair), configured.default):
        if provider and not (others and isinstance(provider, FilesProvider)):
            return provider
    raise InputError(
        f"translation.default: the published translations {pair} of {dataset} are of other captions than its "
        "queries; name a provider"
    )


def _of_translator(plan: Plan, dataset: str, provider: Provider, source: str, target: str) -> Files:
    """Files that a translator itself reads, by name."""
    if isinstance(provider, DictionaryProvider):
        own = [target] if target in plan.datasets[dataset].languages else []
        return {
            "target_sentences": tokens(plan, dataset, own),
            "dictionaries": [dictionary(plan, dataset, source, target)],
        }
    if isinstance(provider, TrainedProvider):
        return {"translator": [plan.path(paths.TRANSLATOR, source=source, target=target)]}
    if isinstance(provider, MarianProvider):
        return {"model": files_in(provider.model_of(source, target))}
    return {}


def translation_tables(plan: Plan, dataset: str, pairs: Sequence[str]) -> list[str]:
    """The translations of a data set between some pairs of languages."""
    require_providers(plan.settings, [(dataset, pair) for pair in pairs])
    return [_of_pair(plan, paths.TRANSLATIONS, dataset, pair) for pair in pairs]


def query_tables(plan: Plan, dataset: str, pairs: Sequence[str]) -> list[str]:
    """Translated queries of a data set for some pairs, each with the caption that it translates."""
    own = {pair for pair in pairs if needs_query_translation(plan.settings, dataset, pair)}
    return [
        _of_pair(plan, paths.QUERIES if pair in own else paths.TRANSLATIONS, dataset, pair) for pair in pairs
    ]


def _of_pair(plan: Plan, pattern: str, dataset: str, pair: str) -> str:
    source, target = pair.split("-")
    return plan.path(pattern, dataset=dataset, source=source, target=target)


def dictionary(plan: Plan, dataset: str, source: str, target: str) -> str:
    """The bilingual dictionary of a pair that has English on one side.

    The user's dictionary, the demo's, or MUSE's.

    Raises:
        InputError: there is no dictionary.
    """
    if "en" not in (source, target):
        pair = f"{source}-{target}"
        raise InputError(
            f"translation: {pair}: the bilingual dictionaries have English on one side. "
            f"Choose another provider for this pair: translation.pairs.{pair}"
        )
    (other,) = {source, target} - {"en"}
    if folder := plan.settings.translation.dictionaries:
        return _existing(f"{folder}/en-{other}.txt", other)
    if plan.datasets[dataset].source == "demo":
        return _existing(paths.DEMO_DICTIONARY.format(language=other), other)
    name = DICTIONARIES.format(language=other)
    return paths.SOURCE_FILE.format(file=name) if name in plan.sources else _existing(name, other)


def _existing(path: str, other: str) -> str:
    """A file that a dictionary needs; the message says what to do if it is missing."""
    if not os.path.exists(path):
        raise InputError(
            f"translation: there is no dictionary of English and {other!r} ({path} is missing). Set "
            f"translation.dictionaries to a folder with en-{other}.txt, or choose another provider for its "
            "pairs: translation.pairs"
        )
    return path


def translator_sources(plan: Plan, source: str, target: str) -> Files:
    """Human translations that a translator learns from, and the images that it must not see, by name.

    The captions are Multi30K's task 1 if a data set of this run is from Multi30K, or else the data sets' own.
    """
    inputs: Files = {"captions": [], "task1": [], "splits": all_splits(plan)}
    for dataset, data in plan.datasets.items():
        if plan.source(dataset).parallel_files:
            return inputs | {"captions": [], "task1": _task1(plan, dataset)}
        inputs["captions"] += [
            plan.path(paths.CAPTIONS, dataset=dataset, language=language)
            for language in data.languages
            if language in (source, target)
        ]
    return inputs


def translator_folder(plan: Plan, source: str, target: str) -> list[str]:
    """The argument of the folder with Multi30K's files; none if the translator reads caption tables."""
    return [f"--multi30k={paths.SOURCES}"] if translator_sources(plan, source, target)["task1"] else []


def _task1(plan: Plan, dataset: str) -> list[str]:
    pattern = plan.source(dataset).parallel_files
    return [paths.SOURCE_FILE.format(file=name) for name in plan.sources if re.search(pattern, name)]


def measured_pairs(plan: Plan) -> list[str]:
    """Measurements of all pairs between English and another language of a data set."""
    pairs = [
        (dataset, pair)
        for dataset, data in plan.datasets.items()
        for language in data.languages
        if language != "en" and "en" in data.languages
        for pair in (f"en-{language}", f"{language}-en")
    ]
    require_providers(
        plan.settings, [(dataset, pair) for dataset, pair in pairs if plan.source(dataset).human_translations]
    )
    return [_of_pair(plan, paths.TRANSLATION_QUALITY, dataset, pair) for dataset, pair in pairs]
