"""What the report contains: its tables, the evaluations and translations behind them, its data sets."""

from functools import cache

from pipeline import settings as configuration
from pipeline.plan import scaling
from pipeline.plan.cells import Evaluation, evaluations_of, translations_of
from pipeline.plan.plan import Plan
from pipeline.settings.translations import DatasetPair

PAPERS = ("mule", "lessons", "smalr")


def tables(plan: Plan) -> list[str]:
    """Tables of evaluations in the report."""
    return [name for name in plan.settings.report if name in plan.tables]


def tables_with_comparison(plan: Plan) -> list[str]:
    """Tables of the report, including tables of counts. Each has a comparison."""
    return [name for name in plan.settings.report if name not in configuration.POINTS]


def scaling_figures(plan: Plan) -> list[str]:
    """Figures of recall against size in the report, by their numbers."""
    names = [name for name in plan.settings.report if name in configuration.POINTS]
    return [name.removeprefix("smalr/figure") for name in names]


@cache
def evaluations(plan: Plan) -> list[Evaluation]:
    """Evaluations of all tables and figures in the report."""
    every = {*evaluations_of(plan, tables(plan))}
    for number in scaling_figures(plan):
        every |= {*scaling.evaluations_of_points(plan, number)}
    return sorted(every, key=lambda evaluation: evaluation.path)


@cache
def translations(plan: Plan) -> list[DatasetPair]:
    """Data set and pair of languages of all translations that the report's tables and figures need."""
    of_points = [
        pair for number in scaling_figures(plan) for pair in scaling.translations_of_points(plan, number)
    ]
    return [*translations_of(plan, tables(plan)), *of_points]


def datasets(plan: Plan) -> list[str]:
    """Data sets that the report's tables evaluate on."""
    names = {evaluation.model.dataset for evaluation in evaluations(plan)}
    return [name for name in plan.datasets if name in names]


def papers(plan: Plan) -> list[str]:
    """Papers that the report has tables of."""
    of_tables = {plan.tables[name].paper for name in tables(plan)}
    return [name for name in PAPERS if name in of_tables]
