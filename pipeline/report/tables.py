"""A paper's table in the paper's layout, with the paper's number below each of ours, and a picture of it."""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.rounding import tenths
from pipeline.datasets.languages import name_of
from pipeline.report import plots
from pipeline.report.settings import ReportSettings
from pipeline.tables.averages import ALL, HUMAN
from pipeline.tables.result_files import read_result
from pipeline.tables.settings import Table
from pipeline.tables.show import row_names
from pipeline.tables.tabulate import printed_metrics

HEADS = {
    "method": "Model",
    "training_data": "Training data",
    "single_model": "Single model",
    "translations": "Translations",
}
PAPER_NAMES = {"multi30k": "Multi30K", "mscoco": "MSCOCO"}  # data sets as the papers print them
METRICS = {
    "mR": "mR",
    **{f"i2s_R@{k}": f"I→S R@{k}" for k in (1, 5, 10)},
    **{f"s2i_R@{k}": f"S→I R@{k}" for k in (1, 5, 10)},
}

# Captions of the tables of counts, which no evaluation fills.
CAPTIONS = {
    "table1": "Images and descriptions of each data set by split and language.",
    "lessons/table1": "Overlap of the languages' vocabularies.",
    "parameters": "Parameters of the models at the papers' sizes, in millions, whatever the scale.",
    "smalr/parameters": "Parameters of ten languages at the paper's sizes, with this scale's vocabularies.",
}

Column = tuple[str, str, str]  # data set, language, metric


def of_comparison(
    name: str, path: Path, settings: ReportSettings, drawing: Path | None = None
) -> dict[str, Any]:
    """What the page shows of results/comparison/{name}.csv: recalls in the paper's layout, or plain lines.

    Args:
        drawing: SVG of a paper's figure; other tables have a picture of their mean recalls.
    """
    numbers = read_result(path, "the comparison", f"Run: snakemake results/{name}.csv", "paper")
    of_all = {"name": name, "datasets": numbers["dataset"].unique().tolist()}
    if name in settings.tables:
        return {
            **of_all,
            "kind": "recalls",
            "caption": settings.tables[name].caption or "",
            "left_out": settings.left_out[name],
            **_recalls(numbers, settings, settings.tables[name]),
            **({"picture": drawing.read_text(encoding="utf-8")} if drawing else {}),
        }
    lines = numbers.dropna(axis="columns", how="all").drop(columns=["table", "scale"], errors="ignore")
    if "dataset" in lines:
        lines["dataset"] = lines["dataset"].replace(PAPER_NAMES)
    return {
        **of_all,
        "kind": "counts",
        "caption": CAPTIONS.get(name, ""),
        "columns": [str(column).replace("_", " ").capitalize() for column in lines],
        "rows": lines.astype(object).where(lines.notna(), "").to_numpy().tolist(),
    }


def printed_name(dataset: str, settings: ReportSettings) -> str:
    """A data set's name as the papers print it; where other data stand for it, they are named too."""
    stands_for = settings.stands_for.get(dataset, dataset)
    if stands_for not in PAPER_NAMES:
        return dataset
    if dataset in settings.papers_data:
        return PAPER_NAMES[stands_for]
    return f"{PAPER_NAMES[stands_for]} ({'other data' if settings.papers_data else settings.scale})"


def _recalls(numbers: pd.DataFrame, settings: ReportSettings, table: Table) -> dict[str, Any]:
    numbers = numbers.assign(paper=pd.to_numeric(numbers["paper"]))
    printed = numbers[numbers["metric"].isin(printed_metrics(table))]
    places = dict.fromkeys(zip(printed["dataset"], printed["language"], printed["metric"], strict=True))
    columns = sorted(places, key=lambda column: _order(column, settings, table))
    rows = [_row(part, columns) for _, part in printed.groupby("row", sort=False)]
    for cells in zip(*(row["cells"] for row in rows), strict=True):
        for key in ("ours", "paper"):
            values = [float(cell[key]) for cell in cells if cell and cell[key]]
            for cell in filter(None, cells):
                cell[f"best_{key}"] = bool(cell[key]) and float(cell[key]) == max(values)
    for row, before in zip(rows, [None, *rows], strict=False):
        row["above"] = row["group"] if before is None or before["group"] != row["group"] else ""
    chance = printed.drop_duplicates(["dataset", "language", "metric"])
    chance = chance.set_index(["dataset", "language", "metric"])["chance"]
    labels = [(printed_name(data, settings), _language(data, code, settings)) for data, code, _ in columns]
    return {
        "heads": [head for head in HEADS if any(row["heads"].get(head) for row in rows)],
        "levels": [
            _spans(name for name, _ in labels),
            _spans(labels),
            *([[(METRICS[metric], 1) for _, _, metric in columns]] if table.metrics else []),
        ],
        "rows": rows,
        "chance": [tenths(chance[column]) for column in columns],
        "candidates": _candidates(numbers, settings),
        "word_by_word": any(row["word_by_word"] for row in rows),
        "beside_paper": bool(printed["paper"].notna().any()),
        "picture": _picture(numbers[numbers["metric"] == "mR"], columns, rows, settings),
    }


def _order(column: Column, settings: ReportSettings, table: Table) -> tuple[int, int]:
    """Sort key of a column: in the table's order of data sets and languages, means over languages last."""
    dataset = settings.stands_for.get(column[0], column[0])
    dataset = dataset if dataset in table.columns else column[0]
    languages = [*table.columns.get(dataset, []), HUMAN, ALL]
    return list(table.columns).index(dataset), languages.index(column[1])


def _language(dataset: str, code: str, settings: ReportSettings) -> str:
    """A language's name; captions that are not human are marked with their origin."""
    origin = settings.caption_origins.get(dataset, {}).get(code, "")
    return name_of(code) + (f" ({origin})" if origin else "")


def _spans(labels: Iterable[Hashable]) -> list[tuple[Any, int]]:
    """Runs of equal labels, and how many columns each spans; of a tuple, its last part is shown."""
    runs = [(label, len(list(run))) for label, run in itertools.groupby(labels)]
    return [(label[-1] if isinstance(label, tuple) else label, span) for label, span in runs]


def _row(numbers: pd.DataFrame, columns: Sequence[Column]) -> dict[str, Any]:
    """A row's texts, and a cell for each column, None where the row has no number."""
    cells = {(line["dataset"], line["language"], line["metric"]): line for line in numbers.to_dict("records")}
    texts = {
        head: "" if numbers[head].isna().all() else str(numbers[head].dropna().iloc[0])
        for head in ("section", "group", *HEADS, "word_by_word")
        if head in numbers
    }
    return {
        "heads": texts,
        "group": " ".join(filter(None, [texts["section"], texts["group"]])),
        "name": row_names(numbers).iloc[0],
        "word_by_word": bool(texts.get("word_by_word")),
        "number": numbers["row"].iloc[0],
        "cells": [_cell(cells[column]) if column in cells else None for column in columns],
    }


def _cell(line: Mapping[str, Any]) -> dict[str, Any]:
    """Our number, half of its 95% interval, the interval and deviation in words, and the paper's number."""
    title = f"95% interval {tenths(line['low'])} to {tenths(line['high'])}"
    if pd.notna(line["std"]):
        title += f"; standard deviation over {line['seeds']} seeds {tenths(line['std'])}"
    return {
        "ours": tenths(line["measured"]),
        "half": tenths((line["high"] - line["low"]) / 2),
        "title": title,
        "paper": "" if pd.isna(line["paper"]) else tenths(line["paper"]),
    }


def _candidates(numbers: pd.DataFrame, settings: ReportSettings) -> str:
    """Numbers of candidate images and sentences; languages with equal numbers are listed together."""
    places = numbers[~numbers["language"].isin([HUMAN, ALL])].drop_duplicates(["dataset", "language"])
    return "; ".join(
        f"{printed_name(dataset, settings)} {', '.join(map(name_of, part['language']))}: "
        f"{images:,} images and {sentences:,} sentences"
        for (dataset, images, sentences), part in places.groupby(
            ["dataset", "images", "sentences"], sort=False
        )
    )


def _picture(
    means: pd.DataFrame,
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Any]],
    settings: ReportSettings,
) -> str:
    """mR with intervals: a panel for each data set and language; the paper's number on its own data."""
    place = {row["number"]: number for number, row in enumerate(rows)}
    means = means.assign(place=means["row"].map(place))
    means["paper"] = means["paper"].where(means["dataset"].isin(settings.papers_data))
    panels = {}
    for dataset, code in dict.fromkeys((dataset, code) for dataset, code, _ in columns):
        part = means[(means["dataset"] == dataset) & (means["language"] == code)]
        panels[f"{printed_name(dataset, settings)}\n{_language(dataset, code, settings)}"] = part
    return plots.intervals(panels, [row["name"] for row in rows], "Mean recalls with 95% intervals")
