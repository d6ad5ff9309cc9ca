"""Who wrote the captions of a table: counts by origin (human, google, dictionary, ...)."""

from collections.abc import Collection, Sequence

import pandas as pd

Origins = dict[str, int]


def count_origins(captions: pd.DataFrame, split: str, images: Collection[str]) -> Origins:
    """Number of captions of some images of a split by origin, in alphabetical order."""
    of_split = captions[(captions["split"] == split) & captions["image"].isin(images)]
    return {
        str(origin): int(count) for origin, count in of_split["origin"].value_counts().sort_index().items()
    }


def count_by_pair(
    translations: Sequence[pd.DataFrame], split: str, images: Collection[str]
) -> dict[str, Origins]:
    """Number of translations of the images by origin, for each language pair `SOURCE-TARGET`."""
    if not translations:
        return {}
    pairs = pd.concat(translations).groupby(["source_language", "language"])
    return {f"{source}-{target}": count_origins(table, split, images) for (source, target), table in pairs}
