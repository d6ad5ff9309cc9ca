"""Inputs and settings of SMALR's figures of recall against size, and of its parameter counts."""

from functools import cache

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.plan.cells import Evaluation
from pipeline.plan.plan import Plan
from pipeline.plan.requests import require_providers
from pipeline.plan.tables import evaluation_files
from pipeline.settings.translations import DatasetPair
from pipeline.tables.settings import ScalingAxes, ScalingSettings
from pipeline.training.settings import SmalrParameterSettings

FIGURES = ("1b", "3")
CAPTIONS = "augmented"  # the captions that SMALR's models are trained on


@cache
def figure_settings(plan: Plan, number: str) -> ScalingSettings:
    """What a figure depends on."""
    return configuration.figure_settings(plan.settings, plan.folder, number)


def drawing_settings(plan: Plan, number: str) -> ScalingAxes:
    """Settings that the drawing of a figure depends on besides its points."""
    settings = figure_settings(plan, number)
    return ScalingAxes(figure=settings.figure, across=settings.across, area=settings.area)


def _experiments(plan: Plan, number: str) -> list[tuple[str, str]]:
    """Data set and experiment of a figure's points."""
    points = figure_settings(plan, number).points
    return list(dict.fromkeys((point.dataset, name) for point in points for name in point.experiments))


def evaluations_of_points(plan: Plan, number: str) -> list[Evaluation]:
    """Evaluations of a figure's points, with every seed."""
    return [
        Evaluation(plan.model(dataset, experiment, seed), "original")
        for dataset, experiment in _experiments(plan, number)
        for seed in plan.settings.seeds
    ]


def translations_of_points(plan: Plan, number: str) -> list[DatasetPair]:
    """Data set and pair of languages of all translations that a figure's points need."""
    return [
        (dataset, pair)
        for dataset, experiment in _experiments(plan, number)
        for pair in configuration.evaluation_pairs(plan.settings, dataset, experiment, "original")
    ]


def figure_files(plan: Plan, number: str) -> dict[str, list[str]]:
    """Evaluations of a figure's points, their ranks, and the trained models.

    Raises:
        InputError: translations lack a provider, or no data set has the figure's languages.
    """
    evaluations = evaluations_of_points(plan, number)
    if not evaluations:
        raise InputError(
            f"results/smalr/figure{number}.csv: no data set of the configuration has its languages."
        )
    require_providers(plan, translations_of_points(plan, number))
    return {**evaluation_files(evaluations), "models": [evaluation.model.model for evaluation in evaluations]}


def _counted_dataset(plan: Plan) -> str:
    """The data set whose vocabularies SMALR's parameters are counted with."""
    dataset = plan.stand_ins.get("multi30k", plan.stand_ins.get("mscoco"))
    if dataset is None:
        raise InputError(
            "results/smalr/parameters.csv: no data set of the configuration stands for multi30k or mscoco."
        )
    return dataset


def counted_words(plan: Plan) -> list[str]:
    """Vocabularies of the ten languages with which SMALR's parameters are counted."""
    dataset = _counted_dataset(plan)
    languages = plan.datasets[dataset].every_language
    return [plan.data(dataset).words(CAPTIONS, language) for language in languages]


def counted_characters(plan: Plan) -> list[str]:
    """Spelled words of the languages whose vocabularies are counted."""
    dataset = _counted_dataset(plan)
    languages = plan.datasets[dataset].every_language
    return [plan.data(dataset).characters(CAPTIONS, language) for language in languages]


def parameter_settings(plan: Plan) -> SmalrParameterSettings:
    """What counting SMALR's parameters depends on."""
    dataset = _counted_dataset(plan)
    return configuration.ten_language_settings(plan.settings, dataset, plan.folder)
