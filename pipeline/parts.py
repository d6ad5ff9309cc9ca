"""Parts that only some experiments have: a module each, named here (docs/add-a-method.md).

They are imported by name, and this file counts in no digest: one part more leaves alone every finished model
that does not use it. Each module says itself what it offers.
"""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

# By the block of an experiment's settings that is there for those who use it. A loss has `terms(step)`, and
# `layers(settings)` where it has weights of its own, which are trained with the model's.
LOSSES = {
    "ranking": "pipeline.models.ranking",
    "masking": "pipeline.models.masking",
}
# By an experiment's `embedding`; each takes the place of `UniversalEmbedding` and has `begun` and `empty`.
EMBEDDINGS = {"hybrid": "pipeline.models.hybrid"}


def losses(settings: Mapping[str, Any]) -> dict[str, ModuleType]:
    """The losses of an experiment, by name, besides those that any may have."""
    return {name: import_module(module) for name, module in LOSSES.items() if settings.get(name)}


def embedding(settings: Mapping[str, Any]) -> ModuleType | None:
    """The module of an experiment's embedding; None for the universal one."""
    name = settings.get("embedding", "universal")
    return None if name == "universal" else import_module(EMBEDDINGS[name])


def of_model(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Modules that an experiment's model is made of, besides those of every model."""
    name = settings.get("embedding", "universal")
    return () if name == "universal" else (EMBEDDINGS[name],)


def of_training(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Modules that an experiment is trained with, besides those of every training."""
    return (*of_model(settings), *(module for name, module in LOSSES.items() if settings.get(name)))
