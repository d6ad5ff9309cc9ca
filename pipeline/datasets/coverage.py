"""Whether a user's own captions cover every split in every language; checked before anything runs."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.datasets.captions import SPLITS
from pipeline.datasets.select import original_captions
from pipeline.datasets.settings import Dataset
from pipeline.datasets.source import Inputs
from pipeline.datasets.sources import source_named
from pipeline.datasets.sources.custom import read_own
from pipeline.datasets.table import caption_table

Counts = dict[str, dict[str, int]]  # language -> split -> captioned images


def coverage(data: Dataset, image_list: Path | None) -> Counts:
    """How many images of each split have captions of their own (`original_captions`) in each language.

    Args:
        data: a data set of source custom.

    Raises:
        InputError: a file cannot be read, or a language has no original captions.
    """
    source = source_named(data.source)
    assert data.captions, "as source custom has"
    split = source.read_split(data.only(source.split_keys), Inputs(image_list=image_list))
    languages_of: dict[str, list[str]] = {}
    for code in data.languages:
        languages_of.setdefault(data.captions.replace("{language}", code), []).append(code)
    counts = {language: dict.fromkeys(SPLITS, 0) for language in data.languages}
    every = pd.concat([caption_table(read_own(Path(path), codes)[0]) for path, codes in languages_of.items()])
    for language in data.languages:
        captions = every[every["language"] == language]
        if captions.empty:
            continue
        try:
            own = original_captions(captions, data.caption_origins.get(language, "human"))
        except InputError as error:
            raise InputError(f"{language}: {error} Set caption_origins: {{{language}: ...}}") from None
        splits = own["image"].drop_duplicates().map(split)
        counts[language] = {name: int((splits == name).sum()) for name in SPLITS}
    return counts


def missing_captions(dataset: str, counts: Counts, languages: Collection[str]) -> Iterator[str]:
    """One line per language and split without captions, with what to do.

    Args:
        dataset: its name in the configuration. languages: those that an experiment trains on human captions;
            the others need no captions for training.
    """
    for language, by_split in counts.items():
        missing = [
            name for name in SPLITS if not by_split[name] and (name != "train" or language in languages)
        ]
        if not missing:
            continue
        images_by_split = ", ".join(f"{count} {name}" for name, count in by_split.items())
        yield (
            f"datasets.{dataset}: {language}: no {' and no '.join(missing)} image has a caption "
            f"(found {images_by_split}): "
            f"add captions of such images, move captioned images into the split (column or file `split`), or "
            f"take {language} out of datasets.{dataset}.languages"
        )
