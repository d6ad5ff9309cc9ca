"""Parts that only some experiments use, each a module named here (docs/add-a-method.md).

They are imported by name, and this file is in no digest: adding a part leaves every finished model alone
that does not use it.
"""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from pipeline.common.block import Block

Values = Mapping[str, Any] | Block

# By the block of an experiment's settings that is there for those who use it. A loss has `terms(step)`, and
# `layers(settings)` where it has weights of its own, which are trained with the model's.
LOSSES = {
    "ranking": "pipeline.models.losses.ranking",
    "masking": "pipeline.models.losses.masking",
}
# By an experiment's `embedding`; each takes the place of `UniversalEmbedding` and has `begun` and `empty`.
EMBEDDINGS = {"hybrid": "pipeline.models.hybrid"}
# By the kind of an experiment's `reduction`: how words are read that have no vector of their own. It has
# `universal_embedding`.
REDUCTIONS = {"dictionary": "pipeline.models.dictionary_embedding"}
# By `model.encoder`: models with nothing of `RetrievalModel`'s inside, which have `begun` and `empty`, and
# how they are trained, a `course`.
ENCODERS = {"liwe": "pipeline.models.liwe"}
COURSES = {"liwe": "pipeline.training.liwe"}

# By the provider of translations; all others are web services.
TRANSLATORS = {
    "dictionary": ("pipeline.translation.dictionary",),
    "marian": ("pipeline.translation.machine", "pipeline.translation.marian"),
}
SERVICES = ("pipeline.translation.machine", "pipeline.translation.web")
BORROWED = ("pipeline.translation.borrowed_translations",)


def losses(settings: Mapping[str, Any]) -> dict[str, ModuleType]:
    """The optional losses of an experiment, by name."""
    return {name: import_module(module) for name, module in LOSSES.items() if settings.get(name)}


def embedding(settings: Mapping[str, Any]) -> ModuleType | None:
    """The module of an experiment's embedding; None for the universal one."""
    name = settings.get("embedding", "universal")
    return None if name == "universal" else import_module(EMBEDDINGS[name])


def reduction(settings: Mapping[str, Any]) -> ModuleType | None:
    """The module that reads an experiment's smaller vocabularies; None where every word has a vector."""
    name = _kind(settings)
    return import_module(REDUCTIONS[name]) if name in REDUCTIONS else None


def _kind(settings: Values) -> str:
    return str(settings.get("reduction") or "").partition("-")[0]


def encoder(settings: Mapping[str, Any]) -> ModuleType | None:
    """The module of an experiment's model; None for a `RetrievalModel`."""
    name = settings["model"]["encoder"]
    return import_module(ENCODERS[name]) if name in ENCODERS else None


def course(settings: Mapping[str, Any]) -> ModuleType | None:
    """The module that defines how an experiment's model is trained; None for the usual training."""
    name = settings["model"]["encoder"]
    return import_module(COURSES[name]) if name in COURSES else None


def of_model(settings: Values) -> tuple[str, ...]:
    """Modules of an experiment's model, besides those of every model."""
    chosen = (
        EMBEDDINGS.get(settings.get("embedding", "")),
        REDUCTIONS.get(_kind(settings)),
        ENCODERS.get(settings["model"]["encoder"]),
    )
    return tuple(module for module in chosen if module)


def of_training(settings: Values) -> tuple[str, ...]:
    """Modules of an experiment's training, besides those of every training."""
    losses = [module for name, module in LOSSES.items() if settings.get(name)]
    other = COURSES.get(settings["model"]["encoder"])
    return (*of_model(settings), *losses, *([other] if other else []))


def of_translation(provider: str, borrowed: bool = False) -> tuple[str, ...]:
    """Modules of a provider of translations; of `files`, those that borrow the translations of other data."""
    if provider == "files":
        return BORROWED if borrowed else ()
    return TRANSLATORS.get(provider, SERVICES)
