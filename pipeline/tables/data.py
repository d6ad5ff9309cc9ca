"""MULE, Table 1: images and descriptions to train on, by data set and language."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.datasets.select import original_captions
from pipeline.datasets.settings import CountSettings
from pipeline.datasets.table import read_captions
from pipeline.tables.counted import Row, write_tables
from pipeline.tables.result_files import paper_table

METRICS = ("images", "descriptions")
OWN_COLUMNS = ["image", "split", "language"]
CROSSED_COLUMNS = ["dataset", "split", "captioned_in", "language", "images", "descriptions"]


def count_captions(
    settings: CountSettings,
    captions: Mapping[str, Sequence[Path]],
    papers: Path,
    table: Path,
    comparison: Path,
    counts: Path,
) -> None:
    """Write Table 1, its numbers next to the paper's (one per line), and counts by split and language.

    Only a data set's own captions count (`datasets/select.py`), no translations; in Table 1, captions of the
    split train.

    Args:
        settings: JSON: `scale` and, in `datasets`, for each data set of the paper `dataset`, the data set of
            this scale that stands for it, and `caption_origins`, by language the origin if not `human`.
        captions: for each data set of the paper its caption tables.
        papers: the paper's own numbers, config/papers/table1.csv.
        table: CSV to write, as the paper prints it.
        comparison: CSV to write, one number per line.
        counts: CSV to write: for each data set of the paper and each split, how many images are captioned
            in exactly a set of languages (`captioned_in`), and how many descriptions they have in each.

    Raises:
        InputError: a caption table is not there or wrong, or a language has no captions of its own.
    """
    own = {
        name: pd.concat([_own_captions(path, data.caption_origins) for path in captions[name]])
        for name, data in settings.datasets.items()
    }
    counts_of = {
        (name, str(language)): _counts(of_language[of_language["split"] == "train"])
        for name, of_dataset in own.items()
        for language, of_language in of_dataset.groupby("language")
    }
    paper = {(row["dataset"], row["language"]): row for row in paper_table(papers).to_dict("records")}
    keys = [*(key for key in paper if key in counts_of), *(key for key in counts_of if key not in paper)]
    rows = [
        {
            "dataset": settings.datasets[name].dataset,
            "language": language,
            **counts_of[name, language],
            "scale": settings.scale,
        }
        for name, language in keys
    ]
    lines = [line for key in keys for line in _lines(settings, key, counts_of[key], paper.get(key, {}))]
    write_tables(pd.DataFrame(rows), table, lines, comparison)
    with atomic_write(counts) as temporary:
        every = [_counts_by_languages(of_dataset).assign(dataset=name) for name, of_dataset in own.items()]
        pd.concat(every)[CROSSED_COLUMNS].to_csv(temporary, index=False, lineterminator="\n")


def _own_captions(path: Path, caption_origins: Mapping[str, str]) -> pd.DataFrame:
    """Image, split and language of a caption table's own captions."""
    parts = [pd.DataFrame(columns=OWN_COLUMNS, dtype=str)]
    for language, of_language in read_captions(path).groupby("language", sort=True):
        try:
            own = original_captions(of_language, caption_origins.get(str(language), "human"))
        except InputError as error:
            raise InputError(f"{path}: {language}: {error} Name its origin in caption_origins.") from None
        parts.append(own[OWN_COLUMNS])
    return pd.concat(parts)


def _counts(own: pd.DataFrame) -> dict[str, int]:
    return {"images": own["image"].nunique(), "descriptions": len(own)}


def _counts_by_languages(own: pd.DataFrame) -> pd.DataFrame:
    """Images and descriptions by split, by all languages of the image, and by language."""
    pairs = own[["image", "language"]].drop_duplicates().sort_values("language")
    captioned_in = pairs.groupby("image")["language"].agg(" ".join)
    with_languages = own.assign(captioned_in=own["image"].map(captioned_in))
    groups = with_languages.groupby(["split", "captioned_in", "language"])["image"]
    return groups.agg(images="nunique", descriptions="size").reset_index()


def _lines(
    settings: CountSettings, key: tuple[str, str], counts: Mapping[str, int], paper: Mapping[str, str]
) -> Iterator[Row]:
    """The numbers of a data set and language next to the paper's row."""
    for metric in METRICS:
        yield {
            **{column: paper.get(column, "") for column in ("row", "group", "method")},
            "table": "1",
            "scale": settings.scale,
            "dataset": settings.datasets[key[0]].dataset,
            "language": key[1],
            "metric": metric,
            "measured": counts[metric],
            "paper": paper.get(metric, ""),
        }
