"""Translations that are added to a language's captions, until every image has enough (SMALR, Section 4)."""

import logging
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.datasets.captions import SENTENCE_COLUMNS
from pipeline.datasets.select import own_captions
from pipeline.datasets.table import read_sentences

log = logging.getLogger("pipeline")

WANTED = 5  # sentences of an image in each language: "at least five"


def added_translations(own: pd.DataFrame, translations: pd.DataFrame, wanted: int = WANTED) -> pd.DataFrame:
    """The translations that are added to a language's own captions of training images.

    An image with n captions of its own gets the translations of its first `wanted` - n English captions, in
    the order of the English caption table; one with `wanted` or more gets none. An English caption whose
    translation was left out is passed over.

    Args:
        own: sentence table of the language's own captions. translations: of its translations from English.
    """
    training = translations[translations["split"] == "train"]
    lacking = wanted - own.groupby("image").size().reindex(training["image"], fill_value=0).to_numpy()
    return training[training.groupby("image").cumcount().to_numpy() < lacking]


def write_added(own: Path, caption_origin: str, translations: Path, output: Path) -> None:
    """Write the sentence table of `added_translations`; it has no rows where every image has enough.

    Args:
        own: sentence table of the language. caption_origin: origin of its own captions.
    """
    translated = read_sentences(translations)
    (language,) = translated["language"].unique()
    table = read_sentences(own)
    mine = own_captions(table[table["language"] == language], caption_origin)
    added = added_translations(mine, translated)
    counts = pd.concat([mine[mine["split"] == "train"], added]).groupby("image").size()
    log.info(
        "%s: %d translations added; of %d training images %d have fewer than %d sentences",
        language, len(added), len(counts), (counts < WANTED).sum(), WANTED,
    )  # fmt: skip
    with atomic_write(output) as temporary:
        added[SENTENCE_COLUMNS].to_csv(temporary, index=False, encoding="utf-8", lineterminator="\n")


def read_added(path: Path) -> pd.DataFrame:
    """The sentence table that `write_added` wrote, which may have no rows.

    Raises:
        InputError: it is missing or no sentence table.
    """
    require_file(path, "the table of added translations", "Run `python -m pipeline augment`.")
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 with columns: {error}.") from None
    if list(table.columns) != SENTENCE_COLUMNS:
        raise InputError(
            f"{path}: found columns {', '.join(table.columns)}; expected {', '.join(SENTENCE_COLUMNS)}."
        )
    return table
