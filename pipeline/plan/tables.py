"""Inputs and settings of tables and comparisons."""

import re
from collections.abc import Sequence

from pipeline.common.block import did_you_mean
from pipeline.common.errors import InputError
from pipeline.plan import paths
from pipeline.plan.captions import caption_tables, tokens
from pipeline.plan.cells import Evaluation, evaluations_of, translations_of
from pipeline.plan.plan import Plan
from pipeline.plan.sources import public_files_of
from pipeline.settings import stages as stage_settings
from pipeline.settings.experiments import makeable_tables
from pipeline.settings.translations import require_providers
from pipeline.training.settings import SmalrParameterSettings

# Languages that *Lessons* compares the vocabularies of, by part of Multi30K.
OVERLAP = {"translation": ["en", "de", "fr", "cs"], "comparable": ["en", "de"]}
CAPTIONS = "augmented"  # the captions that SMALR's models are trained on
TASKS = {"translation": "task1", "comparable": "task2"}


def evaluation_files(evaluations: Sequence[Evaluation]) -> dict[str, list[str]]:
    """Some evaluations and their ranks, by name."""
    return {
        "evaluations": [evaluation.path() for evaluation in evaluations],
        "ranks": [evaluation.path(paths.RANKS) for evaluation in evaluations],
    }


# Tables of evaluations.


def table_evaluations(plan: Plan, table: str) -> dict[str, list[str]]:
    """Evaluations that a table's cells need, and their ranks.

    Raises:
        InputError: translations lack a provider, or the configuration has no data for any cell.
    """
    settings = stage_settings.table_settings(plan.settings, table)
    require_providers(plan.settings, translations_of(plan, [table]))
    evaluations = evaluations_of(plan, [table])
    if not evaluations:
        why = settings.left_out or ["no data set of the configuration has its languages and experiments"]
        raise InputError(f"{plan.settings.results}/{table}.csv: {'; '.join(why)}.")
    return evaluation_files(evaluations)


def printed_numbers(plan: Plan, table: str) -> list[str]:
    """The file of the paper's numbers of a table; empty if the paper prints none."""
    of = stage_settings.table_settings(plan.settings, table).table
    if of.paper is None or of.table is None:
        return []
    folder = "" if of.paper == "mule" else f"{of.paper}/"
    return [f"{paths.PAPERS}/{folder}table{of.table}.csv"]


def every_table(plan: Plan) -> list[str]:
    """All tables that this configuration has data for."""
    names = makeable_tables(plan.settings)
    of_evaluations = [name for name in names if name in plan.settings.tables]
    require_providers(plan.settings, translations_of(plan, of_evaluations))
    return [f"{plan.settings.results}/{name}.csv" for name in names]


# Comparisons of two experiments.


def compared_evaluations(plan: Plan, dataset: str, first: str, second: str) -> dict[str, list[str]]:
    """Evaluations of two experiments with every seed, in all languages of each, and the ranks of both."""
    files = [_files_of_experiment(plan, dataset, experiment) for experiment in (first, second)]
    evaluations = {name: of["evaluations"] for name, of in zip(("first", "second"), files, strict=True)}
    return {**evaluations, "ranks": [path for of in files for path in of["ranks"]]}


def _files_of_experiment(plan: Plan, dataset: str, experiment: str) -> dict[str, list[str]]:
    return evaluation_files(
        [
            Evaluation(plan.settings.run, dataset, name, seed)
            for name in _models(plan, dataset, experiment)
            for seed in plan.settings.seeds
        ]
    )


def _models(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """The models of an experiment: itself, or one for each language."""
    every = plan.settings.experiments_on(dataset)
    if experiment in every:
        return [experiment]
    if experiment not in plan.settings.experiments:
        names = sorted({*every, *plan.settings.experiments})
        raise InputError(f"compare: no experiment {experiment!r}{did_you_mean(experiment, names)}")
    return [name for name in every if re.fullmatch(rf"{re.escape(experiment)}-[a-z]{{2}}", name)]


# Tables of counts.


def counted_captions(plan: Plan) -> list[str]:
    """Caption tables that MULE's Table 1 counts."""
    return [path for dataset in plan.datasets for path in caption_tables(plan, dataset)]


def overlapping_text(plan: Plan, part: str) -> list[str]:
    """Text whose vocabularies *Lessons* compares, by language.

    Multi30K's published tokens, or the captions of another data set that stands for it.
    """
    dataset = plan.stand_in("multi30k")
    if plan.datasets[dataset].source != "multi30k":
        own = plan.datasets[dataset].languages
        return tokens(plan, dataset, [code for code in OVERLAP[part] if code in own])
    texts, pattern = public_files_of(plan, "multi30k-text"), f"{TASKS[part]}/tok/train.*[.]"
    return [path for code in OVERLAP[part] for path in texts if re.search(f"{pattern}{code}$", path)]


def counted_vocabularies(plan: Plan) -> dict[str, list[str]]:
    """Vocabularies of the ten languages with which SMALR's parameters are counted: as words and spelled."""
    dataset = plan.stand_in("multi30k", "mscoco")
    return {
        name: [
            plan.path(pattern, dataset=dataset, captions=CAPTIONS, language=language)
            for language in plan.datasets[dataset].every_language
        ]
        for name, pattern in (("words", paths.WORDS), ("spelled", paths.CHARACTERS))
    }


def smalr_parameter_settings(plan: Plan) -> SmalrParameterSettings:
    """What counting SMALR's parameters depends on."""
    return stage_settings.ten_language_settings(plan.settings, plan.stand_in("multi30k", "mscoco"))
