"""Translations from the caption table of another data set of the same images."""

import logging
from collections.abc import Mapping

from pipeline.common.errors import InputError
from pipeline.datasets.captions import SENTENCE_COLUMNS
from pipeline.translation.translate import Translations

log = logging.getLogger("pipeline")


def borrowed_translations(translations: Translations, split: Mapping[str, str]) -> Translations:
    """Published translations of the images of a split.

    Args:
        translations: `published_translations` of the other data set. split: image -> train, val or test.

    Raises:
        InputError: none of the images is among them.
    """
    table = translations.table
    of_split = table[table["image"].isin(split.keys())]
    if of_split.empty:
        raise InputError(
            f"None of the {table['image'].nunique()} images with translations is an image of the data set; "
            "borrowed_translations needs a data set of the same images."
        )
    missing = len(split) - of_split["image"].nunique()
    if missing:
        log.warning("%d of %d images have no translations to borrow", missing, len(split))
    table = of_split.assign(split=of_split["image"].map(split))[SENTENCE_COLUMNS]
    return Translations(table, translations.left_out)
