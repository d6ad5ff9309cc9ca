"""Inputs of bundles and indexes."""

from pipeline.common.errors import InputError
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


def bundled_model(plan: Plan, dataset: str, experiment: str, seed: int) -> str:
    """The model that a bundle is made from: one that reads words, with whole vocabularies."""
    settings = plan.experiment(dataset, experiment)
    if settings.vectors not in ("fasttext", "muse") or settings.selection or settings.reduction:
        raise InputError(
            f"experiment {experiment} cannot be bundled: only models that read word vectors (fasttext, muse) "
            "can, with whole vocabularies."
        )
    return plan.model(dataset, experiment, seed).model
