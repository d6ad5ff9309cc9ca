"""A paper's table as a reader knows it, with the paper's number beside each of ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.files import existing
from pipeline.report import charts
from pipeline.rounding import tenths
from pipeline.tables.tabulate import printed_metrics

ROW = ("section", "group", "method", "training_data", "single_model", "translations")
METRICS = {
    "mR": "mR",
    **{f"i2s_R@{k}": f"I→S R@{k}" for k in (1, 5, 10)},
    **{f"s2i_R@{k}": f"S→I R@{k}" for k in (1, 5, 10)},
}


def of_comparison(name: str, path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of results/comparison/{name}.csv: recalls as the paper prints them, or lines.

    Args:
        name: of the table, such as table2. settings: `tables`, `own_origins`, `scale`; `left_out`, by
            table the rows that are not made, and why.
    """
    existing(path, "the comparison", f"Run: snakemake results/{name}.csv")
    numbers = pd.read_csv(path, dtype={"section": str, "paper": str}, keep_default_na=True)
    if name in settings["tables"]:
        rows = _recalls(numbers, settings, settings["tables"][name])
        return {"name": name, "kind": "recalls", "left_out": settings["left_out"][name], **rows}
    shown = numbers.dropna(axis="columns", how="all").drop(columns=["table", "scale"], errors="ignore")
    rows = shown.astype(object).where(shown.notna(), "").to_dict("records")
    return {"name": name, "kind": "counts", "columns": list(shown.columns), "rows": rows}


def _recalls(numbers: pd.DataFrame, settings: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    shown = numbers[numbers["metric"].isin(printed_metrics(table))]
    shown = shown.assign(paper=pd.to_numeric(shown["paper"], errors="coerce"))
    columns = list(dict.fromkeys(zip(shown["dataset"], shown["language"], shown["metric"], strict=True)))
    rows = [_row(of_row, columns) for _, of_row in shown.groupby("row", sort=False)]
    for column in range(len(columns)):
        cells = [row["cells"][column] for row in rows if row["cells"][column]]
        for key, mark in (("measured", "best"), ("paper", "paper_best")):
            shown_as = [None if cell[key] is None else float(tenths(cell[key])) for cell in cells]
            highest = max((value for value in shown_as if value is not None), default=None)
            for cell, value in zip(cells, shown_as, strict=True):
                cell[mark] = value is not None and value == highest
    # A group stands above its rows, as the paper prints it.
    shown_above = ("section", "group") if any(row["group"] for row in rows) else ()
    return {
        "grouped": bool(shown_above),
        "heads": [head for head in ROW if head not in shown_above and any(row[head] for row in rows)],
        "columns": _columns(columns, numbers, settings),
        "cells": len(columns),
        "metrics": [METRICS[metric] for _, _, metric in columns] if "metrics" in table else [],
        "rows": rows,
        "word_by_word": any(row["word_by_word"] for row in rows),
        "several_seeds": bool((numbers["seeds"] > 1).any()),
        "plots": _plots(numbers[numbers["metric"] == "mR"], rows),
    }


def _row(numbers: pd.DataFrame, columns: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    by_place = {
        (cell["dataset"], cell["language"], cell["metric"]): cell for cell in numbers.to_dict("records")
    }
    keys = ("measured", "low", "high", "std", "paper", "difference")
    return {
        **{head: _said(numbers, head) for head in ROW},
        "word_by_word": _said(numbers, "word_by_word") != "",
        "number": numbers["row"].iloc[0],
        "cells": [
            {key: None if pd.isna(by_place[place][key]) else float(by_place[place][key]) for key in keys}
            if place in by_place
            else None
            for place in columns
        ],
    }


def _said(numbers: pd.DataFrame, head: str) -> str:
    """What a row's lines say in a column; some are empty, as `translations` where a number has none."""
    said = numbers[head].dropna() if head in numbers else []
    return str(next(iter(said), ""))


def _columns(
    columns: Sequence[tuple[str, str, str]], numbers: pd.DataFrame, settings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Data set and language over each run of columns, with their candidates, and the metrics under it."""
    places = [(dataset, language) for dataset, language, _ in columns]
    means = numbers[numbers["metric"] == "mR"].drop_duplicates(["dataset", "language"])
    among = means.set_index(["dataset", "language"])[["images", "sentences", "chance"]].to_dict("index")
    return [
        {
            "dataset": dataset,
            "language": language,
            "origin": settings["own_origins"].get(dataset, {}).get(language, ""),
            "span": places.count((dataset, language)),
            **among[dataset, language],
        }
        for dataset, language in dict.fromkeys(places)
    ]


def _plots(means: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each data set and language the rows' mR with their intervals, on one axis a data set."""
    label = {row["number"]: _label(row, rows) for row in rows}
    plots = []
    for (dataset, language), column in means.groupby(["dataset", "language"], sort=False):
        of_dataset = means[means["dataset"] == dataset]
        low, high = charts.axis(of_dataset["low"].min(), of_dataset["high"].max())
        lines = [{**cell, "label": label[cell["row"]]} for cell in column.to_dict("records")]
        marks = [
            {"value": value, "at": 100 * (value - low) / (high - low)} for value in charts.ticks(low, high, 5)
        ]
        plots.append(
            {
                "dataset": dataset,
                "language": language,
                "ticks": marks,
                "rows": charts.intervals(lines, low, high),
            }
        )
    return plots


def _label(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """A row's method, with its section and training data where other rows have the same method."""
    same = [other for other in rows if other["method"] == row["method"]]
    label = f"{row['section']} {row['method']}".strip() if len(same) > 1 else str(row["method"])
    alike = [other for other in same if other["section"] == row["section"]]
    return f"{label} ({row['training_data']})" if len(alike) > 1 and row["training_data"] else label
