"""Sentence tables of translations: made by a `Translator`, or published with the data."""

import logging
from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from pipeline.captions.select import select
from pipeline.captions.tokenize import with_tokens
from pipeline.errors import InputError
from pipeline.progress import Progress

log = logging.getLogger("pipeline")

_BATCH = 1000  # sentences


class Translator(Protocol):
    """Anything that translates captions from one language to another."""

    source: str
    target: str

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations in the order of the sentences; empty where there is none."""


def translate(
    sentences: pd.DataFrame, translator: Translator, provider: str, source_origin: str = "human"
) -> pd.DataFrame:
    """Translate the captions of all splits that have the origin `source_origin`.

    The translations are tokenised anew, as captions of the target language are: a model sees a
    translation just as it would see a sentence typed by a user.

    Args:
        sentences: sentence table of the translator's source language.
        provider: the translations' `origin`.

    Returns:
        Sentence table in the target language, with `source_language` set. Empty translations are left
        out and counted in the log.
    """
    of_source = sentences[sentences["language"] == translator.source]
    if of_source.empty:
        found = ", ".join(sorted(sentences["language"].unique()))
        raise InputError(f"There are no sentences in {translator.source!r} to translate; found {found}.")
    chosen = select(of_source, [source_origin])
    translations = _in_batches(list(chosen["caption"]), translator)
    table = chosen.assign(
        language=translator.target,
        caption=translations,
        origin=provider,
        source_language=translator.source,
    )
    return _with_tokens(table, translator.source, translator.target)


def published(captions: pd.DataFrame, source: str, target: str, origin: str) -> pd.DataFrame:
    """Sentence table of the translations from `source` to `target` that came with the data.

    Raises:
        InputError: the caption table has none of this origin.
    """
    pair = captions[(captions["language"] == target) & (captions["source_language"] == source)]
    chosen = pair[pair["origin"] == origin]
    if chosen.empty:
        found = ", ".join(sorted(pair["origin"].unique())) or "none"
        raise InputError(
            f"There are no translations from {source!r} to {target!r} of origin {origin!r}; "
            f"origins of this pair of languages: {found}."
        )
    return _with_tokens(chosen, source, target)


def _in_batches(sentences: list[str], translator: Translator) -> list[str]:
    progress = Progress(f"{translator.source}-{translator.target} sentences", len(sentences))
    translations: list[str] = []
    for start in range(0, len(sentences), _BATCH):
        batch = sentences[start : start + _BATCH]
        translations += translator.translate(batch)
        progress.advance(len(batch))
    return translations


def _with_tokens(table: pd.DataFrame, source: str, target: str) -> pd.DataFrame:
    empty = table["caption"].str.strip() == ""
    if empty.any():
        log.warning(
            "%s-%s: %d of %d translations are empty and left out", source, target, empty.sum(), len(table)
        )
    if empty.all():
        raise InputError(f"No sentence could be translated from {source!r} to {target!r}.")
    return with_tokens(table[~empty], target)
