"""MULE, Table 1: images and descriptions to train on, by data set and language."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.datasets.select import original_captions
from pipeline.datasets.settings import CountSettings
from pipeline.datasets.table import read_captions
from pipeline.tables.counted import write_tables
from pipeline.tables.result_files import paper_table

METRICS = ["images", "descriptions"]
HEADS = ["table", "row", "group", "method", "scale", "dataset", "language"]


def count_captions(
    settings: CountSettings,
    captions: Sequence[Path],
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
        captions: caption tables, named DATASET/captions/LANGUAGE.csv.
        papers: the paper's own numbers, config/papers/table1.csv.
        table: CSV to write, as the paper prints it.
        comparison: CSV to write, one number per line.
        counts: CSV to write: for each data set of the paper and each split, how many images are captioned
            in exactly a set of languages (`captioned_in`), and how many descriptions they have in each.

    Raises:
        InputError: a caption table is not there or wrong, or a language has no captions of its own.
    """
    own = pd.concat(
        original_captions(read_captions(path), of.caption_origins.get(path.stem, "human")).assign(
            dataset=name
        )
        for name, of in settings.datasets.items()
        for path in captions
        if path.parts[-3] == of.dataset
    )
    own["dataset"] = pd.Categorical(own["dataset"], list(settings.datasets))  # in this order
    to_train_on = own.assign(image=own["image"].where(own["split"] == "train"))
    groups = to_train_on.groupby(["dataset", "language"], observed=True)["image"]
    rows = groups.agg(images="nunique", descriptions="count").reset_index()
    rows = rows.merge(paper_table(papers), "left", ["dataset", "language"], suffixes=("", " of paper"))
    rows = rows.sort_values("row", key=pd.to_numeric, kind="stable").fillna("")
    here = {name: data.dataset for name, data in settings.datasets.items()}
    rows = rows.assign(dataset=rows["dataset"].map(here), scale=settings.scale, table="1")
    lines = [
        {**heads, "metric": metric, "measured": row[metric], "paper": row[f"{metric} of paper"]}
        for heads, row in zip(rows[HEADS].to_dict("records"), rows.to_dict("records"), strict=True)
        for metric in METRICS
    ]
    write_tables(rows[["dataset", "language", *METRICS, "scale"]], table, lines, comparison)
    with atomic_write(counts) as temporary:
        _counts_by_languages(own).to_csv(temporary, index=False, lineterminator="\n")


def _counts_by_languages(own: pd.DataFrame) -> pd.DataFrame:
    """Images and descriptions by data set, split, all languages of the image, and language."""
    images = ["dataset", "image"]
    pairs = own[[*images, "language"]].drop_duplicates().sort_values("language")
    captioned_in = pairs.groupby(images, observed=True)["language"].agg(" ".join).rename("captioned_in")
    keys = ["dataset", "split", "captioned_in", "language"]
    groups = own.join(captioned_in, on=images).groupby(keys, observed=True)["image"]
    return groups.agg(images="nunique", descriptions="size").reset_index()
