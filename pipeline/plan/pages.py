"""Inputs and settings of the report, its claims and its figures."""

from functools import cache

from pipeline.plan import paths, tables
from pipeline.plan.cells import Evaluation, evaluations_of, translations_of
from pipeline.plan.images import image_list
from pipeline.plan.plan import Plan
from pipeline.plan.training import features, sentences
from pipeline.plan.words import vocabularies
from pipeline.settings.translations import require_providers

PAPERS = ("mule", "lessons", "smalr")
FIGURES = {"3": "multi30k", "4": "mscoco"}  # the data set whose test images a figure of MULE shows
SHOWN_MODEL = "mule-full"


def _tables(plan: Plan) -> list[str]:
    """Tables of evaluations in the report."""
    return [name for name in plan.settings.report if name in plan.settings.tables]


@cache
def _evaluations(plan: Plan) -> list[Evaluation]:
    """Evaluations of all tables in the report.

    Raises:
        InputError: translations lack a provider.
    """
    require_providers(plan.settings, translations_of(plan, _tables(plan)))
    return evaluations_of(plan, _tables(plan))


def _papers(plan: Plan) -> list[str]:
    """Papers that the report has tables of."""
    of_tables = {plan.settings.tables[name].paper for name in _tables(plan)}
    return [name for name in PAPERS if name in of_tables]


def judged_files(plan: Plan) -> dict[str, list[str]]:
    """The claims of the papers of the report's tables, and what they are judged on, by name."""
    return {
        **tables.evaluation_files(_evaluations(plan)),
        "claims": [paths.CLAIMS.format(paper=paper) for paper in _papers(plan)],
        "papers": [
            path
            for name, table in plan.settings.tables.items()
            if table.paper in _papers(plan)
            for path in tables.printed_numbers(plan, name)
        ],
    }


# Figures 3 and 4 of MULE.


def figure_inputs(plan: Plan, number: str) -> dict[str, str | list[str]]:
    """Model, features, words, sentences and images of a figure; no images if features are imported.

    Raises:
        InputError: the configuration has no data set of the figure.
    """
    dataset = plan.stand_in(FIGURES[number])
    shown, seed = (plan, dataset, SHOWN_MODEL), plan.settings.seeds[0]
    return {
        "model": plan.path(paths.MODEL, dataset=dataset, experiment=SHOWN_MODEL, seed=seed),
        "features": features(*shown),
        "words": vocabularies(*shown),
        "sentences": sentences(*shown),
        "images": image_list(plan, dataset),
    }


# The report.


def report_files(plan: Plan) -> dict[str, list[str]]:
    """Files of the report by name."""
    judged = bool(_papers(plan))
    return {
        "comparisons": [f"{plan.settings.results}/comparison/{name}.csv" for name in plan.settings.report],
        "claims": [f"{plan.settings.results}/claims.csv"] if judged else [],
        "claim_comparisons": [f"{plan.settings.results}/comparison/claims.csv"] if judged else [],
        "figures": _figures(plan),
        "curves": sorted({evaluation.path(paths.CURVES) for evaluation in _evaluations(plan)}),
    }


def _figures(plan: Plan) -> list[str]:
    """Figures whose models the report's tables evaluate; a report trains nothing only for a figure."""
    experiments = {(evaluation.dataset, evaluation.experiment) for evaluation in _evaluations(plan)}
    drawn = [name for name in plan.settings.report if name.partition("/")[2].startswith("figure")]
    return [
        *(f"{plan.settings.results}/{name}.svg" for name in drawn),
        *(
            f"{plan.settings.results}/figure{number}.html"
            for number, dataset in FIGURES.items()
            if (plan.settings.stand_ins.get(dataset), SHOWN_MODEL) in experiments
        ),
    ]
