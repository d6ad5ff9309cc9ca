"""Translations from the caption table of another data set of the same images."""

import logging
from collections.abc import Mapping

from pipeline.common.errors import InputError
from pipeline.datasets.captions import SENTENCE_COLUMNS
from pipeline.translation.translate import Translations

log = logging.getLogger("pipeline")


def borrowed(found: Translations, split: Mapping[str, str]) -> Translations:
    """Published translations of the images of a split.

    Args:
        found: what `published` gives for the other data set's captions. split: image -> train, val or test.

    Raises:
        InputError: none of the images is among them.
    """
    table = found.table
    kept = table[table["image"].isin(split.keys())]
    if kept.empty:
        raise InputError(
            f"None of the {table['image'].nunique()} images with translations is an image of the data set; "
            "borrowed_translations needs a data set of the same images."
        )
    lacking = len(split) - kept["image"].nunique()
    if lacking:
        log.warning("%d of %d images have no translations to borrow", lacking, len(split))
    return Translations(kept.assign(split=kept["image"].map(split))[SENTENCE_COLUMNS], found.left_out)
