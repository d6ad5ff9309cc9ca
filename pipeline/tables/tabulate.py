"""Tables of the papers from the evaluations of experiments.

A table's rows name experiments (config/tables/*.yaml). Computed here are means over seeds and, of the ranks
beside the evaluations, intervals.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.errors import raise_together
from pipeline.files import written_beside
from pipeline.rounding import tenths
from pipeline.tables.cells import cells
from pipeline.tables.evaluations import Evaluations
from pipeline.tables.statistics import METRICS, intervals
from pipeline.tables.translations import translation_columns

log = logging.getLogger("pipeline")

ROW_COLUMNS = ["section", "row", "group", "method", "training_data", "single_model"]
COMPARISON_COLUMNS = [
    "table", *ROW_COLUMNS, "scale", "dataset", "language", "metric", "measured", "low", "high", "std",
    "seeds", "images", "sentences", "chance", "place", "paper", "paper_place", "difference", "experiment",
]  # fmt: skip


Row = dict[str, Any]
Key = tuple[str, ...]


def tabulate(
    settings: Mapping[str, Any], evaluations: Sequence[Path], papers: Path, table: Path, comparison: Path
) -> None:
    """Write a table as the paper prints it, and the same with one number a line beside the paper's.

    The comparison has of each number its 95% interval (`statistics.intervals`), how many images and sentences
    it is among and what chance gives there, its place in its column from the highest, the paper's place among
    the same rows, and at scale paper the difference: elsewhere the data are others, and only the order can be
    compared. Where a row has translations, both say by whom they were made (`translation_columns`).

    Args:
        settings: `scale`; `seeds`; `table`, as in config/tables; `datasets`, for each data set of the paper
            the one of this scale that stands for it; `left_out`, its rows that are not made, and why.
        evaluations: JSON files with the ranks beside them; every one that the table's rows need.
        papers: the papers' own numbers, columns as in pipeline/tables/papers.csv.

    Raises:
        InputError: evaluations are missing, or those of one column are not among the same candidates.
    """
    for row in settings["left_out"]:
        log.warning("%s: omitted: %s", table, row)
    evaluated = Evaluations(evaluations, settings["seeds"])
    lines = list(_lines(settings, evaluated, _of_paper(papers, settings["table"])))
    missing = {line["missing"] for line in lines if line["missing"]}
    raise_together(sorted(missing), f"{table}: evaluations are missing:")
    numbers = _compared(pd.DataFrame(lines), settings["scale"])
    translated = pd.DataFrame(translation_columns(lines))
    if (translated["translations"] != "").any():
        numbers = numbers.join(translated)
    columns = [*COMPARISON_COLUMNS, *(name for name in translated if name in numbers)]
    with written_beside(comparison) as temporary:
        numbers[columns].to_csv(temporary, index=False, float_format="%.6f")
    with written_beside(table) as temporary:
        _printed(numbers, settings).to_csv(temporary, index=False)


def _lines(settings: Mapping[str, Any], evaluated: Evaluations, paper: Mapping[Key, str]) -> Iterator[Row]:
    """One line for each cell and metric; `missing` names evaluations that a cell needs and has not."""
    for cell in cells(settings):
        key = (cell.dataset, cell.experiment, cell.queries)
        missing = evaluated.missing(key, cell.language)
        interval = {} if missing else intervals(evaluated.hits(key, cell.language))
        among = {} if missing else evaluated.candidates(key, cell.language)
        for metric in METRICS:
            found = pd.Series(dtype=float) if missing else evaluated.values(key, cell.language, metric)
            low, high = interval.get(metric, (None, None))
            yield {
                "table": settings["table"].get("table", ""),
                **{name: cell.row.get(name, "") for name in ROW_COLUMNS},
                "scale": settings["scale"],
                "dataset": cell.dataset,
                "language": cell.language,
                "metric": metric,
                "measured": found.mean(),
                "low": low,
                "high": high,
                "std": found.std() if len(found) > 1 else None,
                "seeds": len(settings["seeds"]),
                "images": among.get("images"),
                "sentences": among.get("sentences"),
                "chance": among.get("chance", {}).get(metric),
                "paper": paper.get((str(cell.row["row"]), cell.paper_dataset, cell.language, metric)),
                "experiment": cell.experiment,
                "missing": "; ".join(missing),
                "origins": {} if missing else evaluated.origins(key, cell.language),
            }


def _compared(numbers: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Add places within a column, the highest first, and at scale paper the difference to the paper's."""
    column = numbers.groupby(["dataset", "language", "metric"])
    paper = pd.to_numeric(numbers["paper"])
    both = numbers.assign(paper=paper).groupby(["dataset", "language", "metric"])
    return numbers.assign(
        place=column["measured"].rank(ascending=False, method="min").astype("Int64"),
        paper_place=both["paper"].rank(ascending=False, method="min").astype("Int64"),
        difference=numbers["measured"] - paper if scale == "paper" else None,
    )


def _printed(numbers: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Recalls in the paper's rows and columns; a row is known by its number in the paper."""
    alone = settings["table"].get("metrics", "mR") == "mR"
    recalls = numbers[numbers["metric"] == "mR"] if alone else numbers
    recalls = recalls.set_index("row")
    named = zip(recalls["dataset"], recalls["language"], recalls["metric"], strict=True)
    column = [_column(settings, *place, alone) for place in named]
    wide = recalls.assign(column=column).pivot(columns="column", values="measured")
    wide = wide.map(tenths, na_action="ignore")
    heads = recalls[[key for key in ROW_COLUMNS if key != "row"]]
    heads = heads[~heads.index.duplicated()].loc[:, (heads != "").any()]
    if "translations" in recalls:
        heads["translations"] = recalls["translations"].groupby(level=0).max()  # cells without have ""
    made_of = {"scale": settings["scale"], "seeds": " ".join(map(str, settings["seeds"]))}
    made_of = {"metric": "mR", **made_of} if alone else made_of
    return heads.join(wide[list(dict.fromkeys(column))]).assign(**made_of)


def _column(settings: Mapping[str, Any], dataset: str, language: str, metric: str, alone: bool) -> str:
    """A column's name; captions that are not by people are marked with their origin."""
    origin = settings["caption_origins"][dataset].get(language)
    return f"{dataset} {language}" + (f" ({origin})" if origin else "") + ("" if alone else f" {metric}")


def _of_paper(path: Path, table: Mapping[str, Any]) -> dict[Key, str]:
    """The paper's values of a table by (row, data set, language, metric); a user's own table has none."""
    if "paper" not in table:
        return {}
    every = pd.read_csv(path, dtype=str, keep_default_na=False)
    chosen = every[(every["paper"] == table["paper"]) & (every["table"] == str(table["table"]))]
    keys = ["row", "dataset", "language", "metric"]
    return {tuple(row[key] for key in keys): row["value"] for row in chosen.to_dict("records")}
