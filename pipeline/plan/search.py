"""Inputs of bundles and indexes."""

from pipeline.common.errors import InputError
from pipeline.plan import contents
from pipeline.plan.plan import Plan, as_json
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
