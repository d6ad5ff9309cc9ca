"""Select captions: by their origin, and translations that are added to them."""

from collections.abc import Sequence

import pandas as pd

from pipeline.common.errors import InputError

ENOUGH = 5  # sentences of an image in each language: "at least five" (SMALR, Section 4)


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


def training_captions(own: pd.DataFrame, added: Sequence[pd.DataFrame], captions: str) -> pd.DataFrame:
    """The captions of one language that an experiment trains on (MULE, Table 4, "Training Data Source").

    Args:
        own: the language's own captions. added: tables of the translations that are added to them.
        captions: `human`, only own captions. `human+mt` and `augmented`, both. `mt`, only translations, or
            own captions if nothing is translated into the language (English).
    """
    if captions == "human" or not added:
        return own
    return pd.concat(added if captions == "mt" else [own, *added], ignore_index=True)


def added_translations(
    own: pd.DataFrame, translations: Sequence[pd.DataFrame], captions: str
) -> list[pd.DataFrame]:
    """Of each table of translations into a language, those that an experiment adds to its own captions.

    `augmented`: an image with n captions of its own gets the translations of its first `ENOUGH` - n English
    captions, in the order of the English caption table; an image with `ENOUGH` or more gets none. An English
    caption whose translation was left out is skipped. Otherwise all.
    """
    if captions != "augmented":
        return list(translations)
    return [_up_to_enough(own, table[table["split"] == "train"]) for table in translations]


def _up_to_enough(own: pd.DataFrame, translations: pd.DataFrame) -> pd.DataFrame:
    lacking = ENOUGH - own.groupby("image").size().reindex(translations["image"], fill_value=0).to_numpy()
    return translations[translations.groupby("image").cumcount().to_numpy() < lacking]
