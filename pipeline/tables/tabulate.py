"""Tables of the papers from the evaluations of experiments.

A table's rows name experiments (config/tables/*.yaml). Nothing is computed here but means over seeds.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.errors import raise_together
from pipeline.files import existing, written_beside
from pipeline.tables.cells import cells

METRICS = ("i2s_R@1", "i2s_R@5", "i2s_R@10", "s2i_R@1", "s2i_R@5", "s2i_R@10", "mR")
ROW_COLUMNS = ["section", "row", "group", "method", "training_data", "single_model"]
COMPARISON_COLUMNS = [
    "table", *ROW_COLUMNS, "scale", "dataset", "language", "metric", "measured", "std", "seeds", "paper",
    "experiment",
]  # fmt: skip


Row = dict[str, Any]
Key = tuple[str, ...]


def tabulate(
    settings: Mapping[str, Any], evaluations: Sequence[Path], papers: Path, table: Path, comparison: Path
) -> None:
    """Write a table as the paper prints it, and the same with one number a line beside the paper's.

    Args:
        settings: `scale`; `seeds`; `table`, as in config/tables; `datasets`, for each data set of the paper
            the one of this scale that stands for it.
        evaluations: JSON files; every one that the table's rows need.
        papers: the papers' own numbers, columns as in pipeline/tables/papers.csv.
    """
    lines = list(_lines(settings, _by_key(evaluations), _of_paper(papers, settings["table"])))
    missing = {line["missing"] for line in lines if line["missing"]}
    raise_together(sorted(missing), f"{table}: evaluations are missing:")
    numbers = pd.DataFrame(lines)
    with written_beside(comparison) as temporary:
        numbers[COMPARISON_COLUMNS].to_csv(temporary, index=False, float_format="%.3f")
    with written_beside(table) as temporary:
        _printed(numbers, settings).to_csv(temporary, index=False, float_format="%.1f")


def _lines(
    settings: Mapping[str, Any], evaluated: Mapping[Key, Row], paper: Mapping[Key, str]
) -> Iterator[Row]:
    """One line for each cell and metric; `missing` names evaluations that a cell needs and has not."""
    for cell in cells(settings):
        keys = [(cell.dataset, cell.experiment, str(seed), cell.queries) for seed in settings["seeds"]]
        missing = [" ".join(key) for key in keys if cell.language not in evaluated.get(key, {})]
        for metric in METRICS:
            found = pd.Series([evaluated[key][cell.language][metric] for key in keys] if not missing else [])
            yield {
                "table": settings["table"].get("table", ""),
                **{key: cell.row.get(key, "") for key in ROW_COLUMNS},
                "scale": settings["scale"],
                "dataset": cell.dataset,
                "language": cell.language,
                "metric": metric,
                "measured": found.mean(),
                "std": found.std() if len(found) > 1 else None,
                "seeds": len(keys),
                "paper": paper.get((str(cell.row["row"]), cell.paper_dataset, cell.language, metric)),
                "experiment": cell.experiment,
                "missing": "; ".join(missing),
            }


def _printed(numbers: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Recalls in the paper's rows and columns; a row is known by its number in the paper."""
    alone = settings["table"].get("metrics", "mR") == "mR"
    recalls = numbers[numbers["metric"] == "mR"] if alone else numbers
    recalls = recalls.set_index("row")
    named = zip(recalls["dataset"], recalls["language"], recalls["metric"], strict=True)
    column = [_column(settings, *place, alone) for place in named]
    wide = recalls.assign(column=column).pivot(columns="column", values="measured")
    heads = recalls[[key for key in ROW_COLUMNS if key != "row"]]
    heads = heads[~heads.index.duplicated()].loc[:, (heads != "").any()]
    made_of = {"scale": settings["scale"], "seeds": " ".join(map(str, settings["seeds"]))}
    made_of = {"metric": "mR", **made_of} if alone else made_of
    return heads.join(wide[list(dict.fromkeys(column))]).assign(**made_of)


def _column(settings: Mapping[str, Any], dataset: str, language: str, metric: str, alone: bool) -> str:
    """A column's name; captions that are not by people are marked with their origin."""
    origin = settings["own_origins"][dataset].get(language)
    return f"{dataset} {language}" + (f" ({origin})" if origin else "") + ("" if alone else f" {metric}")


def _by_key(paths: Sequence[Path]) -> dict[Key, Row]:
    """Test recalls by (data set, experiment, seed, queries)."""
    found: dict[Key, Row] = {}
    for path in paths:
        existing(path, "the evaluation", "Run its `evaluate`.")
        content = json.loads(path.read_text(encoding="utf-8"))
        key = (content["dataset"], content["experiment"], str(content["seed"]), content["queries"])
        found[key] = content["test"]
    return found


def _of_paper(path: Path, table: Mapping[str, Any]) -> dict[Key, str]:
    """The paper's values of a table by (row, data set, language, metric); a user's own table has none."""
    if "paper" not in table:
        return {}
    every = pd.read_csv(path, dtype=str, keep_default_na=False)
    chosen = every[(every["paper"] == table["paper"]) & (every["table"] == str(table["table"]))]
    keys = ["row", "dataset", "language", "metric"]
    return {tuple(row[key] for key in keys): row["value"] for row in chosen.to_dict("records")}
