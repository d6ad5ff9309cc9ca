"""Select captions by their origin."""

from collections.abc import Sequence

import pandas as pd

from pipeline.common.errors import InputError


def select(
    sentences: pd.DataFrame,
    origins: list[str] | None = None,
    source_languages: list[str] | None = None,
) -> pd.DataFrame:
    """Rows of a caption or sentence table that have one of the origins and source languages.

    `origins=["human"]` means the data set's own captions. If a language has both independent and translated
    human captions, the translations are left out: Flickr8K-CN's five Chinese
    captions of each image (zhc) are never mixed with the translations of its test set (zhm). French
    and Czech in Multi30K exist only as translations, and stay.

    Args:
        origins: values of `origin` (human, google, dictionary, ...); None: all rows.
        source_languages: values of `source_language`, "" for independent captions; None: the rule above.

    Raises:
        InputError: a requested value of a column is in no row.
    """
    of_origins = _rows(sentences, "origin", origins)
    if source_languages is not None:
        return _rows(of_origins, "source_language", source_languages)
    if origins is None:
        return of_origins
    is_independent = of_origins["source_language"] == ""
    has_own = is_independent.groupby([of_origins["language"], of_origins["origin"]]).transform("any")
    return of_origins[is_independent | ~has_own]


def original_captions(sentences: pd.DataFrame, origin: str) -> pd.DataFrame:
    """A language's own captions: those of one origin, `human` unless the data set has no human captions."""
    return select(sentences, [origin])


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


def _rows(table: pd.DataFrame, column: str, values: list[str] | None) -> pd.DataFrame:
    if values is None:
        return table
    values_in_table = sorted(table[column].unique())
    missing = sorted(set(values) - set(values_in_table))
    if missing:
        raise InputError(
            f"No captions with {column} {', '.join(map(repr, missing))}; found {values_in_table}."
        )
    return table[table[column].isin(values)]
