"""Which experiment fills which cell of a table."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pipeline.tables.settings import Row, TableSettings


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    row: the row's entry in config/tables. paper_dataset: the data set of its column in the paper.
    dataset: the data set of this scale that stands for it. queries: `original` test captions, or captions
    `translated` into the language of the experiment's model; of a row with `consistency`, its value: own
    captions together with their translations.
    """

    row: Row
    paper_dataset: str
    dataset: str
    language: str
    experiment: str
    queries: str


def cells(settings: TableSettings) -> Iterator[Cell]:
    """The cells of a table, row by row.

    Left out are columns of data sets and languages that this configuration lacks, and what an experiment is
    not trained on.
    """
    for row in settings.table.rows:
        for column, languages in (row.columns or settings.table.columns).items():
            for language in languages if column in settings.datasets else []:
                experiment, queries = model_and_queries(
                    row.experiment, row.queries or "original", language, settings.one_per_language
                )
                dataset = settings.datasets[column]
                own = settings.trained[dataset].get(experiment, [])
                if row.consistency:
                    # Only human captions are queries, each together with its translations.
                    origin = settings.caption_origins[dataset].get(language, "human")
                    if language in own and origin == "human":
                        yield Cell(row, column, dataset, language, experiment, row.consistency)
                elif language in (settings.languages[dataset] if own and queries == "translated" else own):
                    yield Cell(row, column, dataset, language, experiment, queries)


def model_and_queries(
    experiment: str, queries: str, language: str, one_per_language: Collection[str]
) -> tuple[str, str]:
    """The model of an experiment that has a language, and the queries that it is asked with.

    Queries in the language of a model of one language need no translation.
    """
    model = f"{experiment}-{language}" if experiment in one_per_language else experiment
    own = queries == "translated" and model.endswith(f"-{language}")
    return model, "original" if own else queries
