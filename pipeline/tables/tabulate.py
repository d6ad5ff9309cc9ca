"""Tables of the papers from the evaluations of experiments.

A table's rows name experiments (config/tables/*.yaml). This module computes means over seeds and, from the
evaluations' ranks, intervals.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import raise_together
from pipeline.common.files import atomic_write
from pipeline.common.rounding import tenths
from pipeline.tables.averages import as_in_paper, columns_of_rows
from pipeline.tables.cells import Cell
from pipeline.tables.evaluations import Evaluations
from pipeline.tables.evaluations import Key as EvaluationKey
from pipeline.tables.result_files import paper_numbers
from pipeline.tables.settings import Row as TableRow
from pipeline.tables.settings import Table, TableSettings
from pipeline.tables.statistics import METRICS, intervals
from pipeline.tables.translations import translation_columns

log = logging.getLogger("pipeline")

ROW_COLUMNS = ["section", "row", "group", "method", "training_data", "single_model"]
COMPARISON_COLUMNS = [
    "table", *ROW_COLUMNS, "scale", "dataset", "language", "metric", "measured", "low", "high", "std",
    "seeds", "images", "sentences", "chance", "paper", "difference", "experiment",
    "trained_languages", "parameters", "parameters_at_test",
]  # fmt: skip

DECIMALS = 6  # decimals of a number in the file

Row = dict[str, Any]
Place = tuple[EvaluationKey, str]  # an evaluation and one of its languages


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
    (`translation_columns`).

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
        InputError: evaluations are missing, or evaluations of one column are not among the same candidates.
    """
    for row in settings.left_out:
        log.warning("%s: omitted: %s", table, row)
    reader = Evaluations(evaluations, settings.seeds)
    lines = list(_lines(settings, reader, paper_numbers(papers)))
    missing = {line["missing"] for line in lines if line["missing"]}
    raise_together(sorted(missing), f"{table}: evaluations are missing:")
    numbers = _with_differences(pd.DataFrame(lines), settings.papers_data)
    of_translations = pd.DataFrame(translation_columns(lines))
    if (of_translations["translations"] != "").any():
        numbers = numbers.join(of_translations)
    extra = ["averaged"] if numbers["averaged"].any() else []
    columns = [*COMPARISON_COLUMNS, *extra, *(name for name in of_translations if name in numbers)]
    with atomic_write(comparison) as temporary:
        numbers[columns].to_csv(temporary, index=False, float_format=f"%.{DECIMALS}f")
    with atomic_write(table) as temporary:
        _printed_table(numbers, settings).to_csv(temporary, index=False)


def _lines(
    settings: TableSettings, evaluations: Evaluations, paper: Mapping[tuple[str, str, str], str]
) -> Iterator[Row]:
    """A line for each evaluated language and metric; `missing` names evaluations that it needs but lacks."""
    for language, column in columns_of_rows(settings):
        cell, keys = column[0], [((c.dataset, c.experiment, c.queries), c.language) for c in column]
        missing = [name for key, code in keys for name in evaluations.missing(key, code)]
        hits = [] if missing else [evaluations.hits(key, code) for key, code in keys]
        interval = intervals(*hits) if hits else {}
        among = {} if missing else _candidates(evaluations, keys)
        size = {} if missing else _size(evaluations, keys)
        for metric in METRICS:
            values = pd.Series(dtype=float) if missing else _mean(evaluations, keys, metric)
            low, high = interval.get(metric, (None, None))
            yield {
                "table": settings.table.table or "",
                **{name: _text(cell.row, name) for name in ROW_COLUMNS},
                "scale": settings.scale,
                "dataset": cell.dataset,
                "language": language,
                "metric": metric,
                "measured": values.mean(),
                "low": low,
                "high": high,
                "std": values.std() if len(values) > 1 else None,
                "seeds": len(settings.seeds),
                "images": among.get("images"),
                "sentences": among.get("sentences"),
                "chance": among.get("chance", {}).get(metric),
                "averaged": " ".join(c.language for c in column) if len(column) > 1 else "",
                "paper": paper.get(
                    (str(cell.row.row), cell.row.method, f"{cell.paper_dataset} {language} {metric}")
                )
                if as_in_paper(language, column)
                else None,
                "experiment": _experiment(column),
                **size,
                "missing": "; ".join(missing),
                "providers": set()
                if missing
                else set().union(*(evaluations.providers(*place) for place in keys)),
            }


def _mean(evaluations: Evaluations, keys: Sequence[Place], metric: str) -> pd.Series:
    """A metric of each seed, in percent: the mean over some languages, or the value of one."""
    return sum(evaluations.values(key, language, metric) for key, language in keys) / len(keys)


def _size(evaluations: Evaluations, keys: Sequence[Place]) -> Row:
    """Languages and parameters of a model (`Evaluations.size`); of several models, the means, rounded."""
    sizes = [evaluations.size(key) for key in dict.fromkeys(key for key, _ in keys)]
    return {name: round(sum(size[name] for size in sizes) / len(sizes)) for name in sizes[0]}


def _candidates(evaluations: Evaluations, keys: Sequence[Place]) -> Row:
    """Candidates and chance level of one language; for several, the largest numbers and the mean level."""
    every = [evaluations.candidates(key, language) for key, language in keys]
    chance = {metric: sum(one["chance"][metric] for one in every) / len(every) for metric in METRICS}
    return {**{name: max(one[name] for one in every) for name in ("images", "sentences")}, "chance": chance}


def _experiment(column: Sequence[Cell]) -> str:
    """The experiment of some cells; for models of one language each, their common name."""
    names = {cell.experiment for cell in column}
    return column[0].row.experiment if len(names) > 1 else names.pop()


def _with_differences(numbers: pd.DataFrame, papers_data: Sequence[str]) -> pd.DataFrame:
    """Add, on the paper's own data, the difference to the paper's number."""
    difference = numbers["measured"] - pd.to_numeric(numbers["paper"])
    return numbers.assign(difference=difference.where(numbers["dataset"].isin(papers_data)))


def _printed_table(numbers: pd.DataFrame, settings: TableSettings) -> pd.DataFrame:
    """Recalls in the paper's rows and columns; a row is known by its number in the paper."""
    alone = settings.table.metrics in (None, "mR")
    recalls = numbers[numbers["metric"].isin(printed_metrics(settings.table))]
    recalls = recalls.set_index("row")
    keys = zip(recalls["dataset"], recalls["language"], recalls["metric"], strict=True)
    column = [_column(settings, *place, alone) for place in keys]
    wide = recalls.assign(column=column).pivot(columns="column", values="measured")
    wide = wide.map(tenths, na_action="ignore")
    heads = recalls[[key for key in ROW_COLUMNS if key != "row"]]
    heads = heads[~heads.index.duplicated()].loc[:, (heads != "").any()]
    if "translations" in recalls:
        # Cells without a remark have "".
        heads["translations"] = recalls["translations"].groupby(level=0).max()
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


def _text(row: TableRow, key: str) -> object:
    """A key of a row, empty if it has none."""
    value = getattr(row, key)
    return "" if value is None else value
