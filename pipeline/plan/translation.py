"""Inputs, arguments and resources of translations, by data set and pair of languages."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from pipeline import digest as code
from pipeline import registry
from pipeline.common.errors import InputError
from pipeline.datasets.settings import BorrowedCaptions
from pipeline.plan import paths
from pipeline.plan.captions import all_splits, tokens
from pipeline.plan.plan import Plan, files_in
from pipeline.plan.requests import require_providers
from pipeline.plan.sources import DICTIONARIES
from pipeline.settings.translations import is_borrowed, needs_query_translation, via_english
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

# The files that some translation or its measurement reads; those of the model are no arguments.
_NAMES = (
    "captions", "images", "sentences", "target_sentences", "dictionaries", "translator", "model", "task1"
)  # fmt: skip
NOTHING: Files = {name: [] for name in _NAMES}


@dataclass(frozen=True)
class Translation:
    """The translation of a data set's captions, or of its queries, from one language into another.

    queries: whether it translates validation and test captions as queries, each linked to its caption;
    otherwise all captions. before: the pair that translated the queries into `source`; None for originals.
    """

    plan: Plan
    dataset: str
    source: str
    target: str
    queries: bool = False
    before: str | None = None
    stage: ClassVar = "translate"

    @property
    def pair(self) -> str:
        return f"{self.source}-{self.target}"

    @property
    def borrowed_captions(self) -> BorrowedCaptions | None:
        """Data set and origin if the translations are in another data set's captions."""
        borrowed = is_borrowed(self.plan.settings, self.dataset, self.pair)
        by_language = self.plan.datasets[self.dataset].borrowed_translations
        return by_language[self.target] if borrowed and not self.queries else None

    def _file(self, pattern: str, language: str) -> str:
        return self.plan.path(pattern, dataset=self.dataset, language=language)

    @property
    def settings(self) -> Provider | None:
        """Settings of the provider; queries do not borrow translations, so the default provides them."""
        if self.borrowed_captions:
            return FilesProvider(provider="files", origin=self.borrowed_captions.origin)
        require_providers(self.plan, [(self.dataset, self.pair)])
        translation = self.plan.settings.translation
        borrowed = is_borrowed(self.plan.settings, self.dataset, self.pair)
        for provider in (translation.provider_of(self.pair), translation.default):
            if provider and not (borrowed and isinstance(provider, FilesProvider)):
                return provider
        raise InputError(
            f"translation.default: {self.dataset} borrows its translations {self.pair}, and queries need "
            "their own; name a provider"
        )

    @property
    def provider(self) -> str:
        return self.settings.provider if self.settings else "files"

    @property
    def inputs(self) -> Files:
        """Files that the translation reads, by name."""
        if self.borrowed_captions:
            lender = self.borrowed_captions.dataset
            return NOTHING | {
                "captions": [self.plan.path(paths.CAPTIONS, dataset=lender, language=self.target)],
                "images": [self.plan.path(paths.SPLIT, dataset=self.dataset)],
            }
        if isinstance(self.settings, FilesProvider):
            return NOTHING | {"captions": [self._file(paths.CAPTIONS, self.target)]}
        sentences = [self._file(paths.TOKENS, self.source)]
        if self.before:
            sentences = query_tables(self.plan, self.dataset, [self.before])
        return NOTHING | {"sentences": sentences} | self.translator_inputs

    @property
    def translator_inputs(self) -> Files:
        """Files that the translator itself reads, by name."""
        if isinstance(self.settings, DictionaryProvider):
            own = self.target in self.plan.datasets[self.dataset].languages
            return {
                "target_sentences": tokens(self.plan, self.dataset, [self.target] if own else []),
                "dictionaries": [dictionary(self.plan, self.dataset, self.source, self.target)],
            }
        if isinstance(self.settings, TrainedProvider):
            return {"translator": [self.plan.path(paths.TRANSLATOR, source=self.source, target=self.target)]}
        if isinstance(self.settings, MarianProvider):
            return {"model": files_in(self.settings.model_of(self.source, self.target))}
        return {}

    @property
    def options(self) -> list[str]:
        """Arguments of `translate` that are no files."""
        splits = ["--splits", "val", "test"] if self.queries else []
        return [*self._settings_option, f"--source-origin={self._source_origin}", *splits]

    @property
    def _settings_option(self) -> list[str]:
        return [f"--settings={self.settings.as_json()}"] if self.settings else []

    @property
    def _source_origin(self) -> str:
        if self.before:
            return of_queries(self.plan, self.dataset, *self.before.split("-")).provider
        return self.plan.datasets[self.dataset].caption_origins.get(self.source, "human")

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
        if not isinstance(self.settings, LocalModel):
            return 0
        return {"cpu": 0, "cuda": 1}.get(self.settings.device, self.plan.settings.gpu)


def of_captions(plan: Plan, dataset: str, source: str, target: str) -> Translation:
    """The translation of a data set's captions."""
    return Translation(plan, dataset, source, target)


def of_queries(plan: Plan, dataset: str, source: str, target: str) -> Translation:
    """The translation of queries: of the pair, or from English if they are translated into English first."""
    if via_english(plan.settings, dataset, f"{source}-{target}"):
        return Translation(plan, dataset, "en", target, queries=True, before=f"{source}-en")
    return Translation(plan, dataset, source, target, queries=True)


def translation_tables(plan: Plan, dataset: str, pairs: Sequence[str]) -> list[str]:
    """The translations of a data set between some pairs of languages."""
    require_providers(plan, [(dataset, pair) for pair in pairs])
    return [_of_pair(plan, paths.TRANSLATIONS, dataset, pair) for pair in pairs]


def query_tables(plan: Plan, dataset: str, pairs: Iterable[str]) -> list[str]:
    """Translated queries of a data set for some pairs, each with the caption that it translates."""
    needs_own = partial(needs_query_translation, plan.settings, dataset)
    return [
        _of_pair(plan, paths.QUERIES if needs_own(pair) else paths.TRANSLATIONS, dataset, pair)
        for pair in pairs
    ]


def _of_pair(plan: Plan, pattern: str, dataset: str, pair: str) -> str:
    source, target = pair.split("-")
    return plan.path(pattern, dataset=dataset, source=source, target=target)


def dictionary(plan: Plan, dataset: str, source: str, target: str) -> str:
    """The bilingual dictionary of a pair that has English on one side.

    The user's dictionary, the demo's (the words of its grammar), or MUSE's.

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
        if Path(path := paths.DEMO_WORD_LIST.format(language=other)).exists():
            return path
        _existing(paths.DEMO_GRAMMAR.format(language=other), other)
        return paths.DEMO_DICTIONARY.format(language=other)
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


class Measurement(Translation):
    """The quality of a pair's translations, measured against human translations if the data set has any."""

    stage: ClassVar = "measure-translation-quality"

    @property
    def references(self) -> Files:
        """Files with human translations, by name."""
        source = self.plan.source(self.dataset)
        if source.parallel_files:
            return {"task1": _task1(self.plan, self.dataset)}
        if not source.human_translations:
            return {}
        return {"captions": [self._file(paths.CAPTIONS, code) for code in (self.source, self.target)]}

    @property
    def settings(self) -> Provider | None:
        """Settings of the provider; None if there is nothing to measure it against."""
        return super().settings if self.references else None

    @property
    def inputs(self) -> Files:
        return NOTHING | self.references | self.translator_inputs

    @property
    def options(self) -> list[str]:
        """Arguments that belong to the data set and to the translator."""
        multi30k = [f"--multi30k={paths.SOURCES}"] if "task1" in self.references else []
        return [*self._settings_option, *multi30k]


def of_quality(plan: Plan, dataset: str, source: str, target: str) -> Measurement:
    """The measurement of the quality of a pair's translations."""
    return Measurement(plan, dataset, source, target)


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
        plan, [(dataset, pair) for dataset, pair in pairs if plan.source(dataset).human_translations]
    )
    return [_of_pair(plan, paths.TRANSLATION_QUALITY, dataset, pair) for dataset, pair in pairs]
