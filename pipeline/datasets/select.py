"""Select captions by their origin."""

from collections.abc import Sequence

import pandas as pd

from pipeline.common.errors import InputError


def original_captions(sentences: pd.DataFrame, origin: str) -> pd.DataFrame:
    """A language's own captions, which have one origin: `human`, unless the data set has no human captions.

    If a language has both independent and translated captions of this origin, the translations are left out:
    Flickr8K-CN's five Chinese captions of each image (zhc) are never mixed with the translations of its test
    set (zhm). French and Czech in Multi30K exist only as translations, and stay.

    Args:
        sentences: rows of a caption or sentence table.
        origin: value of its column `origin` (human, google, dictionary, ...).

    Raises:
        InputError: no row has this origin.
    """
    origins = sorted(sentences["origin"].unique())
    if origin not in origins:
        raise InputError(f"No captions with origin {origin!r}; found {origins}.")
    of_origin = sentences[sentences["origin"] == origin]
    is_independent = of_origin["source_language"] == ""
    has_independent = is_independent.groupby(of_origin["language"]).transform("any")
    return of_origin[is_independent | ~has_independent]


def training_captions(own: pd.DataFrame, translations: Sequence[pd.DataFrame], captions: str) -> pd.DataFrame:
    """The captions of one language that an experiment trains on (MULE, Table 4, "Training Data Source").

    Args:
        own: the language's own captions. translations: tables of translations into it.
        captions: `human`, only own captions. `human+mt`, both. `augmented`, both, with the translations that
            augment.py chose. `mt`, only translations, or own captions if nothing is translated into the
            language (English).
    """
    if captions == "human" or not translations:
        return own
    return pd.concat(translations if captions == "mt" else [own, *translations], ignore_index=True)
