"""Sentence tables of translations: made by a `Translator`, or published with the data."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.datasets.captions import SENTENCE_COLUMNS, SPLITS
from pipeline.datasets.select import original_captions
from pipeline.datasets.tokenize import with_tokens
from pipeline.translation.translation_status import EMPTY, FAULT, OK, SAME, SCRIPT, translation_status

log = logging.getLogger("pipeline")

LEFT_OUT = ["image", "split", "caption", "answer", "status"]

_MEANINGS = {
    EMPTY: "empty",
    SAME: "the caption itself",
    SCRIPT: "in another script",
    FAULT: "escaped, damaged or a notice of the service",
}


class Translator(Protocol):
    """Anything that translates captions from one language to another."""

    source: str
    target: str

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations in the order of the sentences; empty if there is none."""


class Translations(NamedTuple):
    """The result of translating some captions.

    `table`: sentence table in the target language. `left_out`: captions whose answer is not a translation,
    with the columns `LEFT_OUT`; status as in translation_status.py.
    """

    table: pd.DataFrame
    left_out: pd.DataFrame


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
    of_source = sentences[sentences["language"] == translator.source]
    if of_source.empty:
        languages = ", ".join(sorted(sentences["language"].unique()))
        raise InputError(f"There are no sentences in {translator.source!r} to translate; found {languages}.")
    of_origin = original_captions(of_source, source_origin)
    of_origin = of_origin[of_origin["split"].isin(splits)]
    captions = list(of_origin["caption"])
    answers = translator.translate(captions)
    with_answers = of_origin.assign(
        answer=answers,
        status=[translation_status(*pair, translator.target) for pair in zip(captions, answers, strict=True)],
    )
    is_translation = with_answers["status"] == OK
    left_out = with_answers.loc[~is_translation, LEFT_OUT]
    _log_left_out(translator, left_out, len(of_origin))
    table = with_answers[is_translation].assign(
        language=translator.target,
        caption=with_answers["answer"],
        origin=provider,
        source_language=translator.source,
    )
    return Translations(with_tokens(table[SENTENCE_COLUMNS], translator.target), left_out)


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


def _log_left_out(translator: Translator, left_out: pd.DataFrame, captions: int) -> None:
    pair = f"{translator.source}-{translator.target}"
    counts = left_out["status"].value_counts()
    for status, meaning in _MEANINGS.items():
        if count := counts.get(status, 0):
            log.warning("%s: %d of %d translations are %s and left out", pair, count, captions, meaning)
    if len(left_out) == captions:
        raise InputError(
            f"No sentence could be translated from {translator.source!r} to {translator.target!r}."
        )


def published_translations(captions: pd.DataFrame, source: str, target: str, origin: str) -> Translations:
    """All translations from `source` to `target` published with the data.

    Raises:
        InputError: the caption table has none of this origin.
    """
    pair = captions[(captions["language"] == target) & (captions["source_language"] == source)]
    of_origin = pair[pair["origin"] == origin]
    if of_origin.empty:
        origins = ", ".join(sorted(pair["origin"].unique())) or "none"
        raise InputError(
            f"There are no translations from {source!r} to {target!r} of origin {origin!r}; "
            f"origins of this pair of languages: {origins}."
        )
    nothing = pd.DataFrame(columns=LEFT_OUT)
    return Translations(with_tokens(of_origin, target), nothing)
