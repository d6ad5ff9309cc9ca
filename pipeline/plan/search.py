"""Inputs of bundles and indexes, and of recalls of frozen CLIPs."""

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.plan import contents
from pipeline.plan.plan import Plan, as_json, files_in
from pipeline.plan.sources import PHOTOGRAPHS


def data_licences(plan: Plan, dataset: str) -> str:
    """The data that a model was trained on, with their licences."""
    data, source = plan.datasets[dataset], plan.source(dataset)
    terms = [source.terms._asdict()] if source.terms else []
    if data.source == "demo":
        return as_json(terms)
    names = [*source.licence_names]
    if data.images in PHOTOGRAPHS:
        names.append(f"{data.images}-photographs")
    if plan.settings.words.vectors == "file":
        names.append("fasttext")
    rows = [row for row in plan.sources.values() if row["dataset"] in names]
    licences = sorted({(row["dataset"], row["licence"]) for row in rows})
    of_sources = [{"what": what, "licence": licence} for what, licence in licences]
    return as_json([*of_sources, *terms])


def can_be_bundled(plan: Plan, dataset: str, experiment: str) -> bool:
    """Whether a bundle can hold an experiment's model: one that reads words, with whole vocabularies."""
    settings = plan.experiment(dataset, experiment)
    return settings.vectors in ("fasttext", "muse") and not (settings.selection or settings.reduction)


def bundled_model(plan: Plan, dataset: str, experiment: str, seed: int) -> str:
    """The model that a bundle is made from."""
    if not can_be_bundled(plan, dataset, experiment):
        raise InputError(
            f"experiment {experiment} cannot be bundled: only models that read word vectors (fasttext, muse) "
            "can, with whole vocabularies."
        )
    return plan.model(dataset, experiment, seed).model


def searchable_models(plan: Plan) -> dict[str, list[str]]:
    """Folders of the report's models that can be bundled, of the first seed; by data set, MULE full first."""
    folders: dict[str, list[str]] = {}
    of_first_seed = [
        evaluation.model
        for evaluation in contents.evaluations(plan)
        if evaluation.queries == "original" and evaluation.model.seed == plan.settings.seeds[0]
    ]
    for model in sorted(of_first_seed, key=lambda model: model.experiment != "mule-full"):
        if can_be_bundled(plan, model.dataset, model.experiment):
            folders.setdefault(model.dataset, []).append(model.folder)
    return folders


# Frozen multilingual CLIPs, whose recalls are shown next to the tables.


def clips(plan: Plan) -> dict[str, str]:
    """Folder, or name on the hub, of each frozen CLIP by the name of its files."""
    return {configuration.context_name(model): model for model in plan.settings.context}


def clip_tables(plan: Plan) -> list[str]:
    """Recalls of every frozen CLIP on every data set that the report's tables evaluate on.

    Raises:
        InputError: the configuration names no model, or the report no data set.
    """
    if not clips(plan):
        raise InputError(
            "results/context.csv: `context` names no model. Name folders, or models of the Hugging Face hub, "
            "such as --config context=[BAAI/AltCLIP-m9]."
        )
    datasets = contents.datasets(plan)
    if not datasets:
        raise InputError(
            "results/context.csv: `report` names no table of recalls, whose test split it would use. Name "
            "one."
        )
    return [plan.data(dataset).clip_recalls(name) for dataset in datasets for name in clips(plan)]


def clip_files(plan: Plan, model: str) -> list[str]:
    """The files of a frozen CLIP in a folder of this machine."""
    return files_in(clips(plan)[model])
