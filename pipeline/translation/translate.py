"""Sentence tables of translations, made by a `Translator` or published with the data: stage `translate`."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Protocol

import pandas as pd

from pipeline import registry
from pipeline.common.errors import InputError
from pipeline.datasets.captions import SENTENCE_COLUMNS, SPLITS
from pipeline.datasets.select import original_captions
from pipeline.datasets.split import read_split
from pipeline.datasets.table import read_captions, read_sentences, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.translation.settings import (
    DictionaryProvider,
    FilesProvider,
    ProviderBlock,
    ServiceProvider,
    TrainedProvider,
)
from pipeline.translation.translation_status import OK, translation_status

log = logging.getLogger("pipeline")

_SHOWN = 5  # pairs of a caption and its answer in the log


class Translator(Protocol):
    """Anything that translates captions from one language to another; `version` is that of its model."""

    source: str
    target: str
    version: str

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations in the order of the sentences; empty if there is none."""


def translate_captions(
    source: str,
    target: str,
    settings: ProviderBlock,
    output: Path,
    sentences: Path | None = None,
    source_origin: str = "human",
    splits: Sequence[str] = (),
    dictionaries: Sequence[Path] = (),
    target_sentences: Path | None = None,
    translator: Path | None = None,
    cache: Path | None = None,
    requests_per_second: float = 1.0,
    captions: Path | None = None,
    images: Path | None = None,
) -> None:
    """Translate the captions of one language into another.

    Args:
        source: ISO 639-1 code.
        target: ISO 639-1 code.
        settings: JSON: a provider with its settings, such as {"provider": "google"} (docs/translation.md).
        output: sentence table to write.
        sentences: sentence table of the source language (every provider but files).
        source_origin: origin of the captions to translate.
        splits: train, val, test; default: all.
        dictionaries: with dictionary: en-de.txt or de-en.txt, in MUSE's format.
        target_sentences: with dictionary: sentence table of the target language, whose training captions
            decide between a word's translations.
        translator: with trained: output of `train-translator`.
        cache: with marian, trained and services: SQLite file of all translations, created if missing.
        requests_per_second: with services.
        captions: with files: caption table that contains the translations.
        images: with files: output of `split`: keep only its images, with its split.
    """
    if isinstance(settings, FilesProvider):
        if captions is None:
            raise InputError("provider files: --captions is missing, the table that has the translations.")
        split = read_split(images) if images else None
        table = published_translations(read_captions(captions), source, target, settings.origin, split)
    else:
        if sentences is None:
            raise InputError(
                f"provider {settings.provider}: --sentences is missing, the captions to translate."
            )
        chosen = translator_of(
            settings, source, target, dictionaries, target_sentences, translator, cache, requests_per_second
        )
        originals = read_sentences(sentences)
        table = translate(originals, chosen, settings.provider, source_origin, splits or SPLITS)
    write_sentences(table, output)


def translator_of(
    settings: ProviderBlock,
    source: str,
    target: str,
    dictionaries: Sequence[Path],
    target_sentences: Path | None,
    trained: Path | None,
    cache: Path | None,
    requests_per_second: float,
) -> Translator:
    """The translator of a pair of languages; each is imported by name, so that its code counts only here."""
    kind = registry.load(registry.translator(settings.provider))
    if isinstance(settings, DictionaryProvider):
        translator: Translator = kind(source, target, dictionaries, target_sentences)
        return translator
    if isinstance(settings, TrainedProvider):
        if trained is None:
            raise InputError("provider trained: --translator is missing, the output of `train-translator`.")
        settings = settings.with_model(str(trained))
    if cache is None:
        raise InputError(
            f"provider {settings.provider}: --cache is missing, the file that keeps its answers."
        )
    rate = [requests_per_second] if isinstance(settings, ServiceProvider) else []
    translator = kind(source, target, settings, cache, *rate)
    return translator


def translate(
    sentences: pd.DataFrame,
    translator: Translator,
    provider: str,
    source_origin: str = "human",
    splits: Sequence[str] = SPLITS,
) -> pd.DataFrame:
    """Translate the captions of some splits that have the origin `source_origin`.

    The translations are tokenised like captions of the target language: a model sees a translation just as
    it would see a sentence typed by a user. They depend only on the captions and the translator's answers,
    not on the order of the answers.

    Args:
        sentences: sentence table of the translator's source language.
        provider: the translations' `origin`.

    Raises:
        InputError: there is nothing to translate, or no answer is a translation.
    """
    source, target = translator.source, translator.target
    of_origin = original_captions(sentences, source_origin)
    of_origin = of_origin[of_origin["split"].isin(splits)]
    captions = list(of_origin["caption"])
    pairs = list(zip(captions, translator.translate(captions), strict=True))
    # A person sees at once what a service has answered.
    log.info("%s-%s, %d captions, some of them: %s", source, target, len(pairs), _shown(pairs))
    statuses = [translation_status(*pair, target) for pair in pairs]
    if left_out := [pair for pair, status in zip(pairs, statuses, strict=True) if status != OK]:
        counts = Counter(status for status in statuses if status != OK)
        log.warning(
            "%s-%s: left out, since they are not translations: %s, some of them: %s",
            source, target, dict(counts), _shown(left_out),
        )  # fmt: skip
    if len(left_out) == len(pairs):
        raise InputError(f"{source}-{target}: no caption could be translated.")
    table = of_origin.assign(
        language=target,
        caption=[answer for _, answer in pairs],
        origin=provider,
        source_language=source,
    )[[status == OK for status in statuses]]
    return with_tokens(table[SENTENCE_COLUMNS], target)


def _shown(pairs: Sequence[tuple[str, str]]) -> str:
    """Some captions with their answers, chosen at random."""
    some = Random().sample(pairs, min(_SHOWN, len(pairs)))
    return "; ".join(f"{caption!r} -> {answer!r}" for caption, answer in some)


def published_translations(
    captions: pd.DataFrame, source: str, target: str, origin: str, split: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """The sentence table of all translations from `source` to `target` published with the data.

    Args:
        split: image -> train, val or test, for translations that another data set of the same images has;
            only its images are kept.

    Raises:
        InputError: the caption table has none of this origin, or of these images.
    """
    pair = captions[(captions["language"] == target) & (captions["source_language"] == source)]
    table = pair[pair["origin"] == origin]
    if table.empty:
        origins = ", ".join(sorted(pair["origin"].unique())) or "none"
        raise InputError(
            f"There are no translations from {source!r} to {target!r} of origin {origin!r}; "
            f"origins of this pair of languages: {origins}."
        )
    if split is not None:
        table = table[table["image"].isin(split.keys())]
        if missing := len(split) - table["image"].nunique():
            log.warning("%d of %d images have no translations to borrow", missing, len(split))
        if table.empty:
            raise InputError(
                "borrowed_translations needs a data set of the same images; none has translations."
            )
        table = table.assign(split=table["image"].map(split))
    return with_tokens(table, target)[SENTENCE_COLUMNS]
