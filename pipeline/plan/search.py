"""Inputs and arguments of indexes."""

from pipeline.common.errors import InputError
from pipeline.plan import paths
from pipeline.plan.plan import Plan


def searchable_model(plan: Plan, dataset: str, experiment: str, seed: int) -> str:
    """The model of an index.

    Raises:
        InputError: it does not read words by their vectors, so no sentence can be typed for it.
    """
    settings = plan.experiment(dataset, experiment)
    if settings.vectors not in ("fasttext", "muse") or settings.selection:
        raise InputError(
            f"experiment {experiment} cannot be searched with: only models that read word vectors (fasttext, "
            "muse) can."
        )
    return plan.path(paths.MODEL, dataset=dataset, experiment=experiment, seed=seed)


def indexed_split(plan: Plan, dataset: str) -> str:
    """The images of an index: the user's own are all searched; of published ones only test images.

    Among images that it was trained on, a model looks better than it is.
    """
    return "all" if plan.datasets[dataset].source == "custom" else "test"
