"""Inputs and settings of the report, its claims and its figures."""

from pathlib import Path

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.plan import contents, paths
from pipeline.plan.captions import caption_tables
from pipeline.plan.cells import Evaluation
from pipeline.plan.images import image_list
from pipeline.plan.plan import Plan
from pipeline.plan.requests import require_providers
from pipeline.plan.tables import evaluation_files
from pipeline.plan.training import features, sentences
from pipeline.plan.words import vocabularies
from pipeline.report.settings import ReportSettings, RetrievedSettings

FIGURES = {"3": "multi30k", "4": "mscoco"}  # the data set whose test images a figure of MULE shows
SHOWN_MODEL = "mule-full"
TEMPLATES = "pipeline/report/templates"


def templates(folder: Path) -> list[str]:
    """Templates of the pages.

    Args:
        folder: of the project.
    """
    return sorted(map(str, (folder / TEMPLATES).glob("*")))


# Claims.


def claim_evaluations(plan: Plan) -> dict[str, list[str]]:
    """Evaluations that the claims are judged on, and their ranks."""
    require_providers(plan, contents.translations(plan))
    return evaluation_files(contents.evaluations(plan))


def counts(plan: Plan) -> list[str]:
    """Counts of the data; empty if the report does not contain their table."""
    return ["results/counts.csv"] if "table1" in plan.settings.report else []


def claims(plan: Plan) -> list[str]:
    """The claims of the papers whose tables are in the report."""
    return [paths.CLAIMS.format(paper=paper) for paper in contents.papers(plan)]


# Figures 3 and 4 of MULE.


def figure_inputs(plan: Plan, number: str) -> dict[str, str | list[str]]:
    """Model, features, words, sentences and images of a figure; no images if features are imported.

    Raises:
        InputError: the configuration has no data set of the figure.
    """
    dataset = plan.stand_ins.get(FIGURES[number])
    if dataset is None:
        raise InputError(
            f"results/figure{number}.html: no data set of the configuration stands for {FIGURES[number]}."
        )
    shown = plan, dataset, SHOWN_MODEL
    return {
        "model": Evaluation(plan.scale, dataset, SHOWN_MODEL, plan.settings.seeds[0]).path(paths.MODEL),
        "features": features(*shown),
        "words": vocabularies(*shown),
        "sentences": sentences(*shown),
        "images": image_list(plan, dataset),
    }


def figure_settings(plan: Plan, number: str) -> RetrievedSettings:
    return RetrievedSettings(number=int(number), seed=0, threads=1)


# The report.


def comparisons(plan: Plan) -> list[str]:
    """Comparisons of the report's tables."""
    return [_comparison(plan, name) for name in contents.tables_with_comparison(plan)]


def comparison_arguments(plan: Plan) -> list[str]:
    """Comparisons of the report's tables as `TABLE=PATH`."""
    return [f"{name}={_comparison(plan, name)}" for name in contents.tables_with_comparison(plan)]


def _comparison(plan: Plan, table: str) -> str:
    return f"results/comparison/{table}.csv"


def verdicts(plan: Plan, folder: str = "results") -> list[str]:
    """The verdicts on the claims, or their comparisons; empty if no table of a paper is in the report."""
    return [f"{folder}/claims.csv"] if contents.papers(plan) else []


def figures(plan: Plan) -> list[str]:
    """Figures whose models the report's tables evaluate; a report trains nothing only for a figure."""
    experiments = {(evaluation.dataset, evaluation.experiment) for evaluation in contents.evaluations(plan)}
    return [
        *(["results/lessons/figure3.svg"] if "lessons/figure3" in plan.settings.report else []),
        *(
            f"results/figure{number}.html"
            for number, dataset in FIGURES.items()
            if (plan.stand_ins.get(dataset), SHOWN_MODEL) in experiments
        ),
        *(f"results/smalr/figure{number}.svg" for number in contents.scaling_figures(plan)),
    ]


def curves(plan: Plan) -> list[str]:
    """Training curves of the models that the report's tables and figures evaluate."""
    require_providers(plan, contents.translations(plan))
    return sorted({evaluation.path(paths.CURVES) for evaluation in contents.evaluations(plan)})


def captions(plan: Plan) -> list[str]:
    """Caption tables of the data sets that the report's tables evaluate on."""
    return [path for dataset in contents.datasets(plan) for path in caption_tables(plan, dataset)]


def caption_arguments(plan: Plan) -> list[str]:
    """Caption tables of the report's data sets as `DATASET LANGUAGE=PATH`."""
    return [
        f"{dataset} {language}={path}"
        for dataset in contents.datasets(plan)
        for language, path in zip(
            plan.datasets[dataset].languages, caption_tables(plan, dataset), strict=True
        )
    ]


def report_settings(plan: Plan) -> ReportSettings:
    """What the report shows of the configuration."""
    return configuration.report_settings(plan.settings)
