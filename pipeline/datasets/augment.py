"""Translations that are added to a language's captions, until every image has enough (SMALR, Section 4)."""

import logging
from pathlib import Path

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.datasets.captions import SENTENCE_COLUMNS
from pipeline.datasets.select import original_captions
from pipeline.datasets.table import read_sentences

log = logging.getLogger("pipeline")

ENOUGH = 5  # sentences of an image in each language: "at least five"


def added_translations(own: pd.DataFrame, translations: pd.DataFrame, enough: int = ENOUGH) -> pd.DataFrame:
    """The translations that are added to a language's own captions of training images.

    An image with n captions of its own gets the translations of its first `enough` - n English captions, in
    the order of the English caption table; an image with `enough` or more gets none. An English caption
    whose translation was left out is skipped.

    Args:
        own: sentence table of the language's own captions. translations: sentence table of its translations
            from English.
    """
    training = translations[translations["split"] == "train"]
    lacking = enough - own.groupby("image").size().reindex(training["image"], fill_value=0).to_numpy()
    return training[training.groupby("image").cumcount().to_numpy() < lacking]


def augment(sentences: Path, translations: Path, output: Path, caption_origin: str = "human") -> None:
    """Select the translations that give each image five sentences.

    Args:
        sentences: sentence table of the language.
        translations: translations from English into the language.
        output: sentence table to write, of the added translations; without rows if every image has enough.
        caption_origin: origin of the data set's own captions.
    """
    translation_table = read_sentences(translations)
    (language,) = translation_table["language"].unique()
    table = read_sentences(sentences)
    own = original_captions(table[table["language"] == language], caption_origin)
    additions = added_translations(own, translation_table)
    counts = pd.concat([own[own["split"] == "train"], additions]).groupby("image").size()
    log.info(
        "%s: %d translations added; of %d training images %d have fewer than %d sentences",
        language, len(additions), len(counts), (counts < ENOUGH).sum(), ENOUGH,
    )  # fmt: skip
    with atomic_write(output) as temporary:
        additions[SENTENCE_COLUMNS].to_csv(temporary, index=False, encoding="utf-8", lineterminator="\n")
