"""What the report contains: its tables, the evaluations and translations behind them, its data sets."""

from functools import cache

from pipeline.plan.cells import Evaluation, evaluations_of, translations_of
from pipeline.plan.plan import Plan
from pipeline.settings.translations import DatasetPair

PAPERS = ("mule", "lessons", "smalr")


def tables(plan: Plan) -> list[str]:
    """Tables of evaluations in the report."""
    return [name for name in plan.settings.report if name in plan.tables]


def tables_with_comparison(plan: Plan) -> list[str]:
    """Tables of the report, including tables of counts. Each has a comparison."""
    return list(plan.settings.report)


def scaling_figures(plan: Plan) -> list[str]:
    """Figures of recall against size in the report, by their numbers."""
    prefix = "smalr/figure"
    return [name.removeprefix(prefix) for name in plan.settings.report if name.startswith(prefix)]


@cache
def evaluations(plan: Plan) -> list[Evaluation]:
    """Evaluations of all tables in the report."""
    return evaluations_of(plan, tables(plan))


@cache
def translations(plan: Plan) -> list[DatasetPair]:
    """Data set and pair of languages of all translations that the report's tables need."""
    return translations_of(plan, tables(plan))


def datasets(plan: Plan) -> list[str]:
    """Data sets that the report's tables evaluate on."""
    names = {evaluation.dataset for evaluation in evaluations(plan)}
    return [name for name in plan.datasets if name in names]


def papers(plan: Plan) -> list[str]:
    """Papers that the report has tables of."""
    of_tables = {plan.tables[name].paper for name in tables(plan)}
    return [name for name in PAPERS if name in of_tables]
