"""MULE, Table 1: images and descriptions to train on, by data set and language."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.captions.select import own_captions
from pipeline.captions.table import read_captions
from pipeline.errors import InputError, raise_together
from pipeline.tables.counted import Row, paper_rows, write_tables

METRICS = ("images", "descriptions")
PAPER, TABLE = "mule", "1"


def count_captions(
    settings: Mapping[str, Any],
    captions: Mapping[str, Sequence[Path]],
    papers: Path,
    table: Path,
    comparison: Path,
) -> None:
    """Write Table 1, and the same with one number a line beside the paper's.

    Counted are a data set's own captions in the split train (captions/select.py); no translations.

    Args:
        settings: `scale`; `datasets`, for each data set of the paper `dataset`, the one of this scale that
            stands for it, and `own_origins`, for a language the origin of its own captions if not `human`.
        captions: for each data set of the paper its caption tables.
        papers: the papers' own numbers, columns as in pipeline/tables/papers.csv.

    Raises:
        InputError: lists data sets without a caption table or the other way round, tables that are not
            there or wrong, and languages without captions of their own.
    """
    raise_together(_unpaired(settings, captions), f"{table}: caption tables and settings do not agree:")
    mistakes: list[str] = []
    counts = {
        (named, language): count
        for named, data in settings["datasets"].items()
        for path in captions[named]
        for language, count in _counts(path, data["own_origins"], mistakes).items()
    }
    raise_together(mistakes, f"{table}: the captions cannot be counted:")
    paper = paper_rows(papers, PAPER, TABLE)
    order = dict.fromkeys((row["dataset"], row["language"]) for row in paper)
    keys = [*(key for key in order if key in counts), *(key for key in counts if key not in order)]
    printed = [
        {
            "dataset": settings["datasets"][named]["dataset"],
            "language": language,
            **counts[named, language],
            "scale": settings["scale"],
        }
        for named, language in keys
    ]
    lines = [line for key in keys for line in _lines(settings, key, counts[key], paper)]
    write_tables(pd.DataFrame(printed), table, lines, comparison)


def _unpaired(settings: Mapping[str, Any], captions: Mapping[str, Sequence[Path]]) -> list[str]:
    asked = settings["datasets"]
    return [
        *(f"{name}: has no caption table" for name in asked if name not in captions),
        *(f"{name}: is not in the settings' datasets" for name in captions if name not in asked),
    ]


def _counts(path: Path, own_origins: Mapping[str, str], mistakes: list[str]) -> dict[str, dict[str, int]]:
    """For each language of a caption table its images and descriptions to train on."""
    try:
        captions = read_captions(path)
    except InputError as error:
        mistakes.append(str(error))
        return {}
    counts = {}
    for language, of_language in captions.groupby("language", sort=True):
        try:
            own = own_captions(of_language, own_origins.get(language, "human"))
        except InputError as error:
            mistakes.append(f"{path}: {language}: {error} Name its origin in own_origins.")
            continue
        images = own["image"][own["split"] == "train"]
        counts[str(language)] = {"images": images.nunique(), "descriptions": len(images)}
    return counts


def _lines(
    settings: Mapping[str, Any], key: tuple[str, str], counts: Mapping[str, int], paper: list[Row]
) -> Iterator[Row]:
    named, language = key
    printed = {row["metric"]: row for row in paper if (row["dataset"], row["language"]) == key}
    for metric in METRICS:
        row = printed.get(metric, {})
        yield {
            **{column: row.get(column, "") for column in ("section", "row", "group", "method")},
            "table": TABLE,
            "scale": settings["scale"],
            "dataset": settings["datasets"][named]["dataset"],
            "language": language,
            "metric": metric,
            "measured": counts[metric],
            "paper": row.get("value", ""),
        }
