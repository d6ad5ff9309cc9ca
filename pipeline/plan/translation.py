"""Inputs, arguments and resources of translations, by data set and pair of languages."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline import digest as code
from pipeline import registry
from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.datasets.settings import BorrowedCaptions
from pipeline.plan import paths
from pipeline.plan.captions import tokens
from pipeline.plan.plan import Inputs, Plan, as_json, files_in, input_arguments
from pipeline.plan.requests import require_providers
from pipeline.plan.sources import DICTIONARIES
from pipeline.translation.settings import FilesProvider, MarianProvider, Provider

INPUT_OPTIONS = {
    "captions": "--captions",
    "images": "--images",
    "sentences": "--sentences",
    "target": "--target-sentences",
    "dictionary": "--dictionaries",
}


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

    @property
    def pair(self) -> str:
        return f"{self.source}-{self.target}"

    @property
    def borrowed_captions(self) -> BorrowedCaptions | None:
        """Data set and origin if the translations are in another data set's captions."""
        by_language = self.plan.datasets[self.dataset].borrowed_translations
        return by_language.get(self.target) if self.source == "en" and not self.queries else None

    @property
    def provider_settings(self) -> Provider:
        """Settings of the provider; published translations do not say which query each translates."""
        if self.borrowed_captions:
            return FilesProvider(provider="files", origin=self.borrowed_captions.origin)
        require_providers(self.plan, [(self.dataset, self.pair)])
        provider = self.plan.settings.translation.provider_of(self.pair)
        if provider and not (self.queries and provider.provider == "files"):
            return provider
        default = self.plan.settings.translation.default
        if default is None or default.provider == "files":
            raise InputError(
                f"translation.default: queries need their own translations for {self.pair}; name a provider"
            )
        return default

    @property
    def provider(self) -> str:
        return self.provider_settings.provider

    @property
    def kind(self) -> str:
        """The kind of provider: dictionary, files, marian or web."""
        return self.provider if self.provider in ("dictionary", "files", "marian") else "web"

    @property
    def inputs(self) -> dict[str, str | list[str]]:
        """Files that the translation reads, by name."""
        files = self.plan.data(self.dataset)
        if self.borrowed_captions:
            lender = self.plan.data(self.borrowed_captions.dataset)
            return {"captions": lender.captions(self.target), "images": files.split}
        if self.kind == "files":
            return {"captions": files.captions(self.target)}
        return {"sentences": self._sentences, **self.translator_inputs}

    @property
    def _sentences(self) -> str:
        if self.before:
            return query_tables(self.plan, self.dataset, [self.before])[0]
        return self.plan.data(self.dataset).tokens(self.source)

    @property
    def translator_inputs(self) -> dict[str, str | list[str]]:
        """Files that the translator itself reads, by name."""
        if self.kind == "dictionary":
            own = self.target in self.plan.datasets[self.dataset].languages
            target = tokens(self.plan, self.dataset, [self.target] if own else [])
            return {
                "target": target,
                "dictionary": dictionary(self.plan, self.dataset, self.source, self.target),
            }
        if isinstance(marian := self.provider_settings, MarianProvider):
            return {"model": files_in(marian.model.format(source=self.source, target=self.target))}
        return {}

    @property
    def options(self) -> list[str]:
        """Arguments of `translate` that belong to the provider."""
        if isinstance(settings := self.provider_settings, FilesProvider):
            return [f"--origin={settings.origin}"]
        splits = ["--splits", "val", "test"] if self.queries else []
        return [f"--source-origin={self._source_origin}", *self.translator_settings, *splits]

    @property
    def _source_origin(self) -> str:
        if self.before:
            return of_queries(self.plan, self.dataset, *self.before.split("-")).provider
        return self.plan.datasets[self.dataset].caption_origins.get(self.source, "human")

    @property
    def translator_settings(self) -> list[str]:
        """An argument with the settings of machine translation; empty for other providers."""
        if self.kind in ("dictionary", "files"):
            return []
        settings = self.provider_settings.model_dump(exclude_defaults=True, exclude={"provider"})
        return [f"--settings={as_json(settings)}"]

    @property
    def code(self) -> str:
        """Digest of the code that translates."""
        modules = registry.of_translation(self.provider, bool(self.borrowed_captions))
        return code.digest("translate", *modules)

    @property
    def minutes(self) -> int:
        """The time limit in minutes, which is long because of the limits on requests."""
        return 60 if self.kind in ("dictionary", "files") else 1440

    @property
    def services(self) -> int:
        """The number of web services that are used."""
        return 1 if self.kind == "web" else 0

    @property
    def gpus(self) -> int:
        if not isinstance(marian := self.provider_settings, MarianProvider):
            return 0
        return {"cpu": 0, "cuda": 1}.get(marian.device or "auto", self.plan.settings.gpu)


def of_captions(plan: Plan, dataset: str, source: str, target: str) -> Translation:
    """The translation of a data set's captions."""
    return Translation(plan, dataset, source, target)


def of_queries(plan: Plan, dataset: str, source: str, target: str) -> Translation:
    """The translation of queries: of the pair, or from English if they are translated into English first."""
    if configuration.via_english(plan.settings, dataset, f"{source}-{target}"):
        return Translation(plan, dataset, "en", target, queries=True, before=f"{source}-en")
    return Translation(plan, dataset, source, target, queries=True)


def input_options(inputs: Inputs) -> list[str]:
    """Arguments that name the files a pair is translated with."""
    return input_arguments(inputs, INPUT_OPTIONS)


def translation_tables(plan: Plan, dataset: str, pairs: Sequence[str]) -> list[str]:
    """The translations of a data set between some pairs of languages."""
    require_providers(plan, [(dataset, pair) for pair in pairs])
    return [plan.data(dataset).translations(pair) for pair in pairs]


def added_tables(plan: Plan, dataset: str, pairs: Sequence[str], captions: str) -> list[str]:
    """Translations that an experiment trains on: all, or those that `augment` has selected."""
    if captions != "augmented":
        return translation_tables(plan, dataset, pairs)
    require_providers(plan, [(dataset, pair) for pair in pairs])
    return [plan.data(dataset).augmentation(pair) for pair in pairs]


def query_tables(plan: Plan, dataset: str, pairs: Iterable[str]) -> list[str]:
    """Translated queries of a data set for some pairs, each with the caption that it translates."""
    files = plan.data(dataset)
    needs_own = partial(configuration.needs_query_translation, plan.settings, dataset)
    return [files.queries(pair) if needs_own(pair) else files.translations(pair) for pair in pairs]


def dictionary(plan: Plan, dataset: str, source: str, target: str) -> str:
    """The bilingual dictionary of a pair that has English on one side.

    The user's dictionary, the demo's (the words of its grammar), or MUSE's.

    Raises:
        InputError: there is no dictionary; the message says what to do.
    """
    if "en" not in (source, target):
        pair = f"{source}-{target}"
        raise InputError(
            f"translation: {pair}: the bilingual dictionaries have English on one side. "
            f"Choose another provider for this pair: translation.pairs.{pair}"
        )
    (other,) = {source, target} - {"en"}
    if folder := plan.settings.translation.dictionaries:
        return _users_dictionary(folder, other)
    if plan.datasets[dataset].source == "demo":
        return _demo_dictionary(other)
    name = DICTIONARIES.format(language=other)
    if name not in plan.sources:
        raise InputError(
            f"translation: workflow/sources.csv has no dictionary of English and {other!r}. Set "
            f"translation.dictionaries to a folder with en-{other}.txt, or choose another provider for its "
            "pairs"
        )
    return paths.source_file(name)


def _users_dictionary(folder: str, other: str) -> str:
    path = os.path.join(folder, f"en-{other}.txt")
    if not os.path.exists(path) and not path.startswith("work/"):
        raise InputError(f"translation.dictionaries: {path}: not there; add it, or choose another provider")
    return path


def _demo_dictionary(other: str) -> str:
    if Path(path := paths.demo_word_list(other)).exists():
        return path
    if not Path(paths.demo_grammar(other)).exists():
        raise InputError(
            f"translation: the demo has no dictionary of English and {other!r}. Set translation.dictionaries "
            f"to a folder with en-{other}.txt, or choose another provider for its pairs: translation.pairs"
        )
    return paths.demo_dictionary(other)


@dataclass(frozen=True)
class Measurement:
    """The quality of a pair's translations, measured against human translations if the data set has any."""

    translation: Translation

    @property
    def references(self) -> dict[str, str | list[str]]:
        """Files with human translations, by name."""
        plan, dataset = self.translation.plan, self.translation.dataset
        source = plan.source(dataset)
        if source.parallel_files:
            names = [name for name in plan.sources if re.search(source.parallel_files, name)]
            return {"task1": list(map(paths.source_file, names))}
        if not source.human_translations:
            return {}
        pair = (self.translation.source, self.translation.target)
        return {"captions": [plan.data(dataset).captions(language) for language in pair]}

    @property
    def inputs(self) -> dict[str, str | list[str]]:
        references = self.references
        return {**references, **self.translation.translator_inputs} if references else {}

    @property
    def provider(self) -> str:
        return self.translation.provider if self.references else "files"

    @property
    def options(self) -> list[str]:
        """Arguments that belong to the data set and to the translator."""
        references = self.references
        sources = [f"--multi30k={paths.SOURCES}"] if "task1" in references else []
        return [*sources, *self.translation.translator_settings] if references else []

    @property
    def code(self) -> str:
        """Digest of the code that translates and measures."""
        modules = registry.of_translation(self.provider)
        return code.digest("measure-translation-quality", *modules)

    @property
    def minutes(self) -> int:
        return self.translation.minutes if self.references else 60

    @property
    def services(self) -> int:
        return self.translation.services if self.references else 0

    @property
    def gpus(self) -> int:
        return self.translation.gpus if self.references else 0


def of_quality(plan: Plan, dataset: str, source: str, target: str) -> Measurement:
    """The measurement of the quality of a pair's translations."""
    return Measurement(of_captions(plan, dataset, source, target))


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
    return [plan.data(dataset).translation_quality(pair) for dataset, pair in pairs]
