"""Sentence tables of translations: made by a `Translator`, or published with the data."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import pandas as pd

from pipeline import registry
from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.datasets.captions import SENTENCE_COLUMNS, SPLITS
from pipeline.datasets.select import original_captions
from pipeline.datasets.tokenize import with_tokens
from pipeline.translation.settings import DictionaryProvider, ProviderBlock, ServiceProvider
from pipeline.translation.translation_status import OK, translation_status

log = logging.getLogger("pipeline")

LEFT_OUT = ["image", "split", "caption", "answer", "status"]

_SHOWN = 5  # pairs of a caption and its answer in the log


class Translator(Protocol):
    """Anything that translates captions from one language to another; `version` is that of its model."""

    source: str
    target: str
    version: str

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations in the order of the sentences; empty if there is none."""


class Translations(NamedTuple):
    """The result of translating some captions.

    `table`: sentence table in the target language. `left_out`: captions whose answer is not a translation,
    with the columns `LEFT_OUT`; status as in translation_status.py.
    """

    table: pd.DataFrame
    left_out: pd.DataFrame


def translator_of(
    settings: ProviderBlock,
    source: str,
    target: str,
    dictionaries: Sequence[Path],
    target_sentences: Path | None,
    cache: Path | None,
    requests_per_second: float,
) -> Translator:
    """The translator of a pair of languages; each is imported by name, so that its code counts only here."""
    kind = registry.load(registry.translator(settings.provider))
    if isinstance(settings, DictionaryProvider):
        translator: Translator = kind(source, target, dictionaries, target_sentences)
        return translator
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
) -> Translations:
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
    shown = "; ".join(
        f"{caption!r} -> {answer!r}" for caption, answer in Random().sample(pairs, min(_SHOWN, len(pairs)))
    )
    log.info("%s-%s, %d captions, some of them: %s", source, target, len(pairs), shown)
    with_answers = of_origin.assign(
        answer=[answer for _, answer in pairs],
        status=[translation_status(caption, answer, target) for caption, answer in pairs],
    )
    is_translation = with_answers["status"] == OK
    left_out = with_answers.loc[~is_translation, LEFT_OUT]
    if len(left_out):
        counts = left_out["status"].value_counts().to_dict()
        log.warning("%s-%s: left out, since they are not translations: %s", source, target, counts)
    if not is_translation.any():
        raise InputError(f"{source}-{target}: no caption could be translated.")
    table = with_answers[is_translation].assign(
        language=target, caption=with_answers["answer"], origin=provider, source_language=source
    )
    return Translations(with_tokens(table[SENTENCE_COLUMNS], target), left_out)


def write_report(path: Path, translations: Translations, **pair: str) -> None:
    """Write as JSON the number of translated captions and, by status, all untranslated captions."""
    left_out = translations.left_out
    report = {
        **pair,
        "translated": len(translations.table),
        "left_out": left_out["status"].value_counts().sort_index().to_dict(),
        "captions_left_out": left_out.to_dict("records"),
    }
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def published_translations(
    captions: pd.DataFrame, source: str, target: str, origin: str, split: Mapping[str, str] | None = None
) -> Translations:
    """All translations from `source` to `target` published with the data.

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
    nothing = pd.DataFrame(columns=LEFT_OUT)
    return Translations(with_tokens(table, target)[SENTENCE_COLUMNS], nothing)
