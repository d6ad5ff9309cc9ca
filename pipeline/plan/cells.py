"""Which evaluations and translations the tables need."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pipeline.plan import paths
from pipeline.plan.plan import Plan, either
from pipeline.settings import stages as stage_settings
from pipeline.settings.translations import DatasetPair, evaluation_pairs
from pipeline.tables.cells import Cell, cells


@dataclass(frozen=True)
class Evaluation:
    """The recalls of a model on some queries: original, translated, average or learned."""

    run: str
    dataset: str
    experiment: str
    seed: int
    queries: str = "original"

    def path(self, pattern: str = paths.EVALUATION) -> str:
        """The path of its recalls, or of another file of the model."""
        return pattern.format(**vars(self))


@cache
def cells_of_table(plan: Plan, table: str) -> list[Cell]:
    """The cells of a table, as this configuration fills them."""
    return list(cells(stage_settings.table_settings(plan.settings, table)))


def evaluations_of(plan: Plan, tables: Iterable[str]) -> list[Evaluation]:
    """Evaluations that the cells of some tables need, with every seed."""
    evaluations = {
        Evaluation(plan.settings.run, cell.dataset, cell.experiment, seed, cell.queries)
        for table in tables
        for cell in cells_of_table(plan, table)
        for seed in plan.settings.seeds
    }
    return sorted(evaluations, key=Evaluation.path)


def translations_of(plan: Plan, tables: Iterable[str]) -> list[DatasetPair]:
    """Data set and pair of languages of all translations that the cells of some tables need."""
    models = {
        (cell.dataset, cell.experiment, cell.queries): None
        for table in tables
        for cell in cells_of_table(plan, table)
    }
    return [
        (dataset, pair)
        for dataset, *model in models
        for pair in evaluation_pairs(plan.settings, dataset, *model)
    ]


def experiments_on(plan: Plan, dataset: str) -> set[str]:
    """Experiments of the configured tables that are trained on a data set."""
    return {
        cell.experiment
        for table in plan.settings.tables
        for cell in cells_of_table(plan, table)
        if cell.dataset == dataset
    }


def table_names(plan: Plan) -> str:
    """A regular expression of tables of evaluations: table2, or some of its rows: table2-row7+11."""
    return rf"(?:{either(list(plan.settings.tables))})(?:-row[1-9]\d*(?:[+][1-9]\d*)*)?"
