"""Tables of the papers from the evaluations of experiments.

A table's rows name experiments (config/tables/*.yaml). This module computes means over seeds and, from the
evaluations' ranks, intervals.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.common.rounding import tenths
from pipeline.tables.averages import as_in_paper, columns_of_rows
from pipeline.tables.cells import Cell
from pipeline.tables.evaluations import PARAMETERS, Evaluations, provider_label, word_by_word
from pipeline.tables.result_files import paper_numbers
from pipeline.tables.settings import Table, TableSettings
from pipeline.tables.statistics import METRICS, intervals

log = logging.getLogger("pipeline")

ROW_COLUMNS = ["section", "row", "group", "method", "training_data", "single_model"]
COMPARISON_COLUMNS = [
    "table", *ROW_COLUMNS, "scale", "dataset", "language", "metric", "measured", "low", "high", "std",
    "seeds", "images", "sentences", "chance", "paper", "difference", "experiment",
    "trained_languages", "parameters", "parameters_at_test",
]  # fmt: skip
EXTRA_COLUMNS = ["averaged", "translations", "word_by_word"]  # left out where all are empty

DECIMALS = 6  # decimals of a number in the file

Row = dict[str, Any]


def tabulate(
    settings: TableSettings,
    evaluations: Sequence[Path],
    table: Path,
    comparison: Path,
    papers: Sequence[Path] = (),
) -> None:
    """Write a table as the paper prints it, and its numbers next to the paper's (one per line).

    For each number, the comparison has its 95% interval (`statistics.intervals`), the numbers of candidate
    images and sentences and the chance level, and on the paper's own data the difference: on others, only
    the order can be compared. The paper's number is that of the row with the same number and method. A mean
    over other languages than the paper's has no paper's number (`averaged` names its languages).
    `parameters`: trainable, mean over seeds, whose latent vocabularies may differ in size, and over models if
    a number has one for each language; `parameters_at_test`: those left if the vocabulary's universal vectors
    are precomputed (SMALR, Section 5). If a row uses translations, both files name their provider
    (`_with_translations`).

    Args:
        settings: JSON: `scale`, `seeds` and `table`, as in config/tables. `papers_data`: data sets that are
            the paper's own. `datasets`: for each data set of the paper the data set of this scale that stands
            for it. `left_out`: rows that are not made, and why. `human`: for `averages`, the languages of
            each data set with human captions.
        evaluations: JSON files that the table's rows need, all with the ranks next to them.
        table: CSV to write, as the paper prints it.
        comparison: CSV to write, one number per line.
        papers: the paper's own numbers, as in config/papers/table2.csv; empty if it prints none.

    Raises:
        InputError: an evaluation is missing, or evaluations of one column are not among the same candidates.
    """
    for row in settings.left_out:
        log.warning("%s: omitted: %s", table, row)
    lines = list(_lines(settings, Evaluations(evaluations, settings.seeds), paper_numbers(papers)))
    numbers = _with_translations(_with_differences(pd.DataFrame(lines), settings.papers_data))
    extra = [name for name in EXTRA_COLUMNS if numbers[name].ne("").any()]
    with atomic_write(comparison) as temporary:
        numbers[[*COMPARISON_COLUMNS, *extra]].to_csv(temporary, index=False, float_format=f"%.{DECIMALS}f")
    with atomic_write(table) as temporary:
        _printed_table(numbers, settings).to_csv(temporary, index=False)


def _lines(
    settings: TableSettings, evaluations: Evaluations, paper: Mapping[tuple[str, str, str], str]
) -> Iterator[Row]:
    """A line for each language and metric, with the `providers` of its translations."""
    for language, column in columns_of_rows(settings):
        cell, places = column[0], [((c.dataset, c.experiment, c.queries), c.language) for c in column]
        interval = intervals(*(evaluations.hits(*place) for place in places))
        table = evaluations.table(places)
        recalls = table.groupby("seed")[list(METRICS)].mean()
        models = table.drop_duplicates(["key", "seed"])
        of_paper = f"{cell.paper_dataset} {language}" if as_in_paper(language, column) else ""
        of_all_metrics = {
            "table": settings.table.table,
            **cell.row.model_dump(include=set(ROW_COLUMNS)),
            "scale": settings.scale,
            "dataset": cell.dataset,
            "language": language,
            "seeds": len(settings.seeds),
            **table[["images", "sentences"]].max(),
            "averaged": " ".join(c.language for c in column) if len(column) > 1 else "",
            "experiment": _experiment(column),
            **models[["trained_languages", *PARAMETERS]].mean().round().astype(int),
            "providers": set().union(*(evaluations.providers(*place) for place in places)),
        }
        for metric in METRICS:
            low, high = interval[metric]
            yield {
                **of_all_metrics,
                "metric": metric,
                "measured": recalls[metric].mean(),
                "low": low,
                "high": high,
                "std": recalls[metric].std(),
                "chance": table[f"chance {metric}"].mean(),
                "paper": paper.get((str(cell.row.row), cell.row.method, f"{of_paper} {metric}")),
            }


def _experiment(column: Sequence[Cell]) -> str:
    """The experiment of some cells; for models of one language each, their common name."""
    names = {cell.experiment for cell in column}
    return column[0].row.experiment if len(names) > 1 else names.pop()


def _with_differences(numbers: pd.DataFrame, papers_data: Sequence[str]) -> pd.DataFrame:
    """Add, on the paper's own data, the difference to the paper's number."""
    difference = numbers["measured"] - pd.to_numeric(numbers["paper"])
    return numbers.assign(difference=difference.where(numbers["dataset"].isin(papers_data)))


def _with_translations(numbers: pd.DataFrame) -> pd.DataFrame:
    """Add the translations behind a line.

    `translations`: the providers of the translations of the line's row, empty if the line has none.
    `word_by_word`: `yes` if some translations behind the line are word by word.
    """
    of_row = numbers.groupby("row")["providers"].agg(lambda each: set().union(*each))
    labels = numbers["row"].map(of_row.map(provider_label))
    return numbers.assign(
        translations=labels.where(numbers["providers"].map(bool), ""),
        word_by_word=numbers["providers"].map(word_by_word),
    )


def _printed_table(numbers: pd.DataFrame, settings: TableSettings) -> pd.DataFrame:
    """Recalls in the paper's rows and columns; a row is known by its number in the paper."""
    alone = settings.table.metrics in (None, "mR")
    recalls = numbers[numbers["metric"].isin(printed_metrics(settings.table))]
    recalls = recalls.set_index("row")
    keys = zip(recalls["dataset"], recalls["language"], recalls["metric"], strict=True)
    column = [_column(settings, *place, alone) for place in keys]
    wide = recalls.assign(column=column).pivot(columns="column", values="measured")
    wide = wide.map(tenths, na_action="ignore")
    heads = recalls[[*(key for key in ROW_COLUMNS if key != "row"), "translations"]]
    heads = heads[~heads.index.duplicated()]
    heads["translations"] = recalls.groupby(level=0)["translations"].max()
    heads = heads.loc[:, (heads.fillna("") != "").any()]
    made_of = {"scale": settings.scale, "seeds": " ".join(map(str, settings.seeds))}
    made_of = {"metric": "mR", **made_of} if alone else made_of
    return heads.join(wide[list(dict.fromkeys(column))]).assign(**made_of)


def printed_metrics(table: Table) -> list[str]:
    """The recalls that a table prints; its comparison has all."""
    if isinstance(table.metrics, list):
        return [*table.metrics]
    return list(METRICS) if table.metrics == "all" else ["mR"]


def _column(settings: TableSettings, dataset: str, language: str, metric: str, alone: bool) -> str:
    """A column's name; captions that are not human are marked with their origin."""
    origin = settings.caption_origins[dataset].get(language)
    return f"{dataset} {language}" + (f" ({origin})" if origin else "") + ("" if alone else f" {metric}")
