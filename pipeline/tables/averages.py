"""Columns of means over languages: HA, of languages with human captions, and A, of all (SMALR, "Metrics")."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from pipeline.tables.cells import Cell, cells
from pipeline.tables.settings import TableSettings

HUMAN, ALL = "HA", "A"
# Languages that the paper's own averages are over, by data set.
HUMAN_OF_PAPER = {"mscoco": ["en", "zh", "ja"], "multi30k": ["en", "de", "fr", "cs"]}
ALL_OF_PAPER = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]


def columns_of_rows(settings: TableSettings) -> Iterator[tuple[str, list[Cell]]]:
    """The columns of each row: name, and the cells that a number is the mean of.

    A place of one language has one cell. After a row's languages of a data set come its averages, if the
    table has any: HA where the row has every language with human captions, A where it has every column.
    """
    of_row = groupby(cells(settings), key=lambda cell: (cell.row.row, cell.dataset))
    for (_, dataset), group in of_row:
        cells_of = {cell.language: cell for cell in group}
        yield from ((language, [cell]) for language, cell in cells_of.items())
        for name, languages in _languages_of_averages(
            settings, dataset, next(iter(cells_of.values()))
        ).items():
            if languages and all(language in cells_of for language in languages):
                yield name, [cells_of[language] for language in languages]


def _languages_of_averages(settings: TableSettings, dataset: str, cell: Cell) -> dict[str, list[str]]:
    """The languages of each average."""
    if not settings.table.averages:
        return {}
    every = settings.table.columns[cell.paper_dataset]
    human = [language for language in every if language in settings.human[dataset]]
    return {HUMAN: human, ALL: every}


def as_in_paper(name: str, column: Sequence[Cell]) -> bool:
    """Whether a column averages the same languages as the paper's column of its name."""
    languages = {HUMAN: HUMAN_OF_PAPER.get(column[0].paper_dataset, []), ALL: ALL_OF_PAPER}.get(name, [name])
    return {cell.language for cell in column} == set(languages)
