"""A paper's table in the paper's layout, with the paper's number next to each of ours."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.rounding import tenths
from pipeline.datasets.languages import LANGUAGES, name_of
from pipeline.report import charts
from pipeline.report.settings import ReportSettings
from pipeline.tables.result_files import read_result
from pipeline.tables.settings import Table
from pipeline.tables.tabulate import printed_metrics

ROW = ("section", "group", "method", "training_data", "single_model", "translations")
PAPER_NAMES = {"multi30k": "Multi30K", "mscoco": "MSCOCO"}  # data sets as the papers print them
SIDE_BY_SIDE = 7  # with more columns, the paper's numbers are in lines instead of columns
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


def of_comparison(name: str, path: Path, settings: ReportSettings) -> dict[str, Any]:
    """What a page shows of results/comparison/{name}.csv: recalls in the paper's layout, or a list of lines.

    Args:
        name: of the table, such as table2. settings: `tables`, `caption_origins`, `scale`; `stands_for`,
            by data set; `left_out`, by table the rows that are not made, and why.
    """
    numbers = read_result(path, "the comparison", f"Run: snakemake results/{name}.csv", "paper")
    if name in settings.tables:
        table = settings.tables[name]
        rows = _recalls(numbers, settings, table)
        page = {"kind": "recalls", "caption": table.caption or "", "left_out": settings.left_out[name]}
        return {"name": name, **page, **rows}
    page = numbers.dropna(axis="columns", how="all").drop(columns=["table", "scale"], errors="ignore")
    if "dataset" in page:
        page["dataset"] = [PAPER_NAMES.get(dataset, dataset) for dataset in page["dataset"]]
    lines = page.astype(object).where(page.notna(), "").to_numpy().tolist()
    heads = [str(column).replace("_", " ").capitalize() for column in page]
    return {
        "name": name,
        "kind": "counts",
        "caption": CAPTIONS.get(name, ""),
        "columns": heads,
        "rows": lines,
    }


def printed_name(dataset: str, settings: ReportSettings) -> str:
    """A data set's name as the papers print it; where other data stand for it, they are named too."""
    stands_for = settings.stands_for.get(dataset, dataset)
    if stands_for not in PAPER_NAMES:
        return dataset
    if dataset in settings.papers_data:
        return PAPER_NAMES[stands_for]
    return f"{PAPER_NAMES[stands_for]} ({'other data' if settings.scale == 'paper' else settings.scale})"


def _recalls(numbers: pd.DataFrame, settings: ReportSettings, table: Table) -> dict[str, Any]:
    of_metrics = numbers[numbers["metric"].isin(printed_metrics(table))]
    of_metrics = of_metrics.assign(paper=pd.to_numeric(of_metrics["paper"], errors="coerce"))
    columns = list(
        dict.fromkeys(zip(of_metrics["dataset"], of_metrics["language"], of_metrics["metric"], strict=True))
    )
    columns.sort(key=lambda column: _place(column[0], column[1], settings, table))
    rows = [_row(of_row, columns) for _, of_row in of_metrics.groupby("row", sort=False)]
    _mark_groups(rows)
    for column in range(len(columns)):
        cells = [row["cells"][column] for row in rows if row["cells"][column]]
        for key, mark in (("measured", "best"), ("paper", "paper_best")):
            shown_as = [None if cell[key] is None else float(tenths(cell[key])) for cell in cells]
            highest = max((value for value in shown_as if value is not None), default=None)
            for cell, value in zip(cells, shown_as, strict=True):
                cell[mark] = value is not None and value == highest
    # A group is printed above its rows, as in the paper.
    shown_above = ("section", "group") if any(row["group"] for row in rows) else ()
    return {
        "grouped": bool(shown_above),
        "datasets": _spans([printed_name(dataset, settings) for dataset, _, _ in columns]),
        "labels": [_column_label(*column, columns, settings) for column in columns],
        "beside_paper": any(cell and cell["paper"] is not None for row in rows for cell in row["cells"]),
        "wide": len(columns) > SIDE_BY_SIDE,
        "chance": [_chance(numbers, column) for column in columns],
        "heads": [head for head in ROW if head not in shown_above and any(row[head] for row in rows)],
        "columns": _columns(columns, numbers, settings),
        "cells": len(columns),
        "candidates": _candidates(_columns(columns, numbers, settings)),
        "metrics": [METRICS[metric] for _, _, metric in columns] if table.metrics is not None else [],
        "rows": rows,
        "word_by_word": any(row["word_by_word"] for row in rows),
        "several_seeds": bool((numbers["seeds"] > 1).any()),
        "plots": _plots(numbers[numbers["metric"] == "mR"], rows, settings),
    }


def _place(dataset: str, language: str, settings: ReportSettings, table: Table) -> tuple[int, int]:
    """Sort key of a column: in the table's order of data sets and languages, means over languages last."""
    column = settings.stands_for.get(dataset, dataset)
    column = column if column in table.columns else dataset
    languages = list(table.columns.get(column, []))
    behind = len(languages)
    return list(table.columns).index(column), languages.index(language) if language in languages else behind


def _candidates(columns: Sequence[Mapping[str, Any]]) -> str:
    """Numbers of candidate images and sentences; languages with equal numbers are listed together."""
    alike: dict[tuple[str, int, int], list[str]] = {}
    for column in columns:
        key = column["dataset"], int(column["images"]), int(column["sentences"])
        if column["language"] in LANGUAGES or column["language"].islower():  # no mean over languages
            alike.setdefault(key, []).append(name_of(column["language"]))
    return "; ".join(
        f"{dataset} {', '.join(languages)}: {images:,} images and {sentences:,} sentences"
        for (dataset, images, sentences), languages in alike.items()
    )


def _spans(names: Sequence[str]) -> list[dict[str, Any]]:
    """Runs of equal names, and how many columns each spans."""
    return [{"name": name, "span": len(list(run))} for name, run in itertools.groupby(names)]


def _column_label(
    dataset: str,
    language: str,
    metric: str,
    columns: Sequence[tuple[str, str, str]],
    settings: ReportSettings,
) -> str:
    """The label before a number on a narrow screen, where columns have no headers."""
    several = len({name for name, _, _ in columns}) > 1
    name = [printed_name(dataset, settings)] if several else []
    only_mean = {metric for _, _, metric in columns} == {"mR"}
    return " ".join([*name, name_of(language), *([] if only_mean else [METRICS[metric]])])


def _chance(numbers: pd.DataFrame, column: tuple[str, str, str]) -> float:
    """The recall of a random order in a column, which all rows share."""
    by_column = numbers.groupby(["dataset", "language", "metric"])["chance"].first()
    return float(by_column[column])


def _row(numbers: pd.DataFrame, columns: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    by_place = {
        (cell["dataset"], cell["language"], cell["metric"]): cell for cell in numbers.to_dict("records")
    }
    keys = ("measured", "low", "high", "std", "paper", "difference")
    return {
        **{head: _text_of(numbers, head) for head in ROW},
        "word_by_word": _text_of(numbers, "word_by_word") != "",
        "number": numbers["row"].iloc[0],
        "cells": [
            {key: None if pd.isna(by_place[place][key]) else float(by_place[place][key]) for key in keys}
            if place in by_place
            else None
            for place in columns
        ],
    }


def _mark_groups(rows: Sequence[dict[str, Any]]) -> None:
    """Mark each row with the group above it, and with whether it extends the last row, as `+ c2c` does."""
    section, name = "", ""
    for row in rows:
        follows = row["section"] == section and row["group"] == name
        row["extends"] = follows and row["method"].startswith("+ ")
        row["above"] = _in_section(row["section"], row["group"])
        section, name = row["section"], f"{name} {row['method']}" if row["extends"] else row["method"]


def _text_of(numbers: pd.DataFrame, head: str) -> str:
    """The text that a row's lines have in a column such as `translations`; empty if they have none."""
    texts = numbers[head].dropna() if head in numbers else []
    return str(next(iter(texts), ""))


def _columns(
    columns: Sequence[tuple[str, str, str]], numbers: pd.DataFrame, settings: ReportSettings
) -> list[dict[str, Any]]:
    """Data set and language over each run of columns, with their candidates, and the metrics under it."""
    places = [(dataset, language) for dataset, language, _ in columns]
    means = numbers[numbers["metric"] == "mR"].drop_duplicates(["dataset", "language"])
    among = means.set_index(["dataset", "language"])[["images", "sentences", "chance"]].to_dict("index")
    return [
        {
            "dataset": printed_name(dataset, settings),
            "language": language,
            "origin": settings.caption_origins.get(dataset, {}).get(language, ""),
            "span": places.count((dataset, language)),
            **among[dataset, language],
        }
        for dataset, language in dict.fromkeys(places)
    ]


def _plots(
    means: pd.DataFrame, rows: Sequence[Mapping[str, Any]], settings: ReportSettings
) -> list[dict[str, Any]]:
    """For each data set and language the rows' mR with intervals and chance, on one axis per data set."""
    label = {row["number"]: _label(row) for row in rows}
    plots = []
    for (dataset, language), column in means.groupby(["dataset", "language"], sort=False):
        of_dataset = means[means["dataset"] == dataset]
        chance = float(column["chance"].iloc[0])
        low, high = charts.axis(of_dataset[["low", "chance"]].min(axis=None), of_dataset["high"].max())
        lines = [{**cell, "label": label[cell["row"]]} for cell in column.to_dict("records")]
        marks = [
            {"value": value, "at": 100 * (value - low) / (high - low)} for value in charts.ticks(low, high, 5)
        ]
        plots.append(
            {
                "dataset": printed_name(dataset, settings),
                "language": language,
                "ticks": marks,
                "chance": {"value": chance, "at": 100 * (chance - low) / (high - low)},
                "rows": charts.intervals(lines, low, high),
            }
        )
    return plots


def _label(row: Mapping[str, Any]) -> str:
    """A row's whole name: section, group, method and training data."""
    between = " " if row["method"].startswith("+ ") else ": "
    name = f"{row['group']}{between}{row['method']}" if row["group"] else row["method"]
    return _in_section(row["section"], f"{name} ({row['training_data']})" if row["training_data"] else name)


def _in_section(section: str, name: str) -> str:
    """A name in its section of a table: `(a) EmbN`, `as published code: Bilingual`."""
    between = "" if not section or not name else " " if section.startswith("(") else ": "
    return f"{section}{between}{name}"
