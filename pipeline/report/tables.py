"""A paper's table in the paper's layout, with the paper's number below each of ours, and a picture of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

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

PLACE = ["dataset", "language", "metric"]  # of a number in its row
Column = tuple[str, str, str]  # the same

# Captions of the tables of counts, which no evaluation fills.
CAPTIONS = {
    "table1": "Images and descriptions of each data set by split and language.",
    "lessons/table1": "Overlap of the languages' vocabularies.",
    "parameters": "Parameters of the models at the papers' sizes, in millions, whatever the scale.",
    "smalr/parameters": "Parameters of ten languages at the paper's sizes, with this scale's vocabularies.",
}


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
            "recalls": True,
            "caption": settings.tables[name].caption or "",
            "left_out": settings.left_out[name],
            **_recalls(numbers, settings, settings.tables[name]),
            **({"picture": drawing.read_text(encoding="utf-8")} if drawing else {}),
        }
    lines = numbers.dropna(axis="columns", how="all").drop(columns=["table", "scale"], errors="ignore")
    if name != "parameters":  # these have the papers' sizes, whatever the scale
        lines["dataset"] = [printed_name(each, settings) for each in lines["dataset"]]
    lines = lines.rename(columns=lambda column: column.replace("_", " ").capitalize())
    return {
        **of_all,
        "recalls": False,
        "caption": CAPTIONS.get(name, ""),
        "lines": lines.astype(object).where(lines.notna(), ""),
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
    """The table, whose last line has the chance levels, its candidates, and its picture."""
    numbers = numbers.assign(paper=pd.to_numeric(numbers["paper"]))
    printed = numbers[numbers["metric"].isin(printed_metrics(table))]
    places = printed[PLACE].drop_duplicates().itertuples(index=False, name=None)
    columns = sorted(places, key=lambda place: _order(place[0], place[1], settings, table))
    cells = printed.assign(cell=_cells(printed)).pivot(index="row", columns=PLACE, values="cell")
    cells = cells.reindex(index=printed["row"].unique(), columns=columns).fillna("–")
    chance = printed.groupby(PLACE)["chance"].first().map(tenths)
    shown = pd.concat([cells, chance.to_frame().T])
    shown.index = pd.MultiIndex.from_frame(_heads(printed))
    labels = [
        (printed_name(dataset, settings), _language(dataset, code, settings), METRICS[metric])
        for dataset, code, metric in columns
    ]
    shown.columns = pd.MultiIndex.from_tuples(labels if table.metrics else [label[:2] for label in labels])
    return {
        "table": shown,
        "candidates": _candidates(numbers, settings),
        "word_by_word": "word_by_word" in printed,
        "picture": _picture(numbers[numbers["metric"] == "mR"], columns, settings),
    }


def _order(dataset: str, language: str, settings: ReportSettings, table: Table) -> tuple[int, int]:
    """Sort key of a column: in the table's order of data sets and languages, means over languages last."""
    stands_for = settings.stands_for.get(dataset, dataset)
    column = stands_for if stands_for in table.columns else dataset
    languages = [*table.columns.get(column, []), HUMAN, ALL]
    return list(table.columns).index(column), languages.index(language)


def _cells(numbers: pd.DataFrame) -> pd.Series:
    """Each number with half of its 95% interval and the paper's number; the best of a column are bold."""
    half = ((numbers["high"] - numbers["low"]) / 2).map(tenths)
    titles = "95% interval " + numbers["low"].map(tenths) + " to " + numbers["high"].map(tenths)
    deviations = numbers["std"].map(tenths, na_action="ignore").astype("string")
    deviations = "; standard deviation over " + numbers["seeds"].astype(str) + " seeds " + deviations
    ours = _best_in_bold(numbers, "measured") + " <small>±" + half + "</small>"
    paper = '<span class="paper">' + _best_in_bold(numbers, "paper") + "</span>"
    cells = '<span title="' + titles + deviations.fillna("") + '">' + ours + "</span>" + paper.fillna("")
    return cells.map(Markup)


def _best_in_bold(numbers: pd.DataFrame, column: str) -> pd.Series:
    texts = numbers[column].map(tenths, na_action="ignore").astype("string")
    best = texts.astype(float).groupby([numbers[key] for key in PLACE]).transform("max")
    return texts.mask(texts.astype(float) == best, "<b>" + texts + "</b>")


def _heads(printed: pd.DataFrame) -> pd.DataFrame:
    """What is written before the numbers of each row and of the chance levels; empty columns are left out."""
    rows = printed.groupby("row", sort=False).first()
    heads = rows.reindex(columns=["section", "group", *HEADS]).astype(object).fillna("")
    if "word_by_word" in rows:
        heads["method"] += rows["word_by_word"].map({"yes": " †"}).fillna("")
    heads["section"] = (heads["section"] + " " + heads.pop("group")).str.strip()
    heads.loc["chance"] = ""
    heads.loc["chance", "method"] = "Chance"
    return heads.loc[:, heads.ne("").any()].rename(columns={"section": "", **HEADS})


def _language(dataset: str, code: str, settings: ReportSettings) -> str:
    """A language's name; captions that are not human are marked with their origin."""
    origin = settings.caption_origins.get(dataset, {}).get(code, "")
    return name_of(code) + (f" ({origin})" if origin else "")


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


def _picture(means: pd.DataFrame, columns: Sequence[Column], settings: ReportSettings) -> str:
    """mR with intervals: a panel for each data set and language; the paper's number on its own data."""
    names = row_names(means)[~means["row"].duplicated()]
    means = means.assign(place=pd.factorize(means["row"])[0])
    means["paper"] = means["paper"].where(means["dataset"].isin(settings.papers_data))
    panels = {}
    for dataset, code in dict.fromkeys((dataset, code) for dataset, code, _ in columns):
        part = means[(means["dataset"] == dataset) & (means["language"] == code)]
        panels[f"{printed_name(dataset, settings)}\n{_language(dataset, code, settings)}"] = part
    return plots.intervals(panels, list(names), "Mean recalls with 95% intervals")
