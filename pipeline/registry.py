"""Parts that only some experiments use, imported by name (docs/extending.md).

This file is in no digest of code: adding a part does not retrain any model that does not use it.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.common.block import Block

# A loss is NAMELoss in a file NAME.py of this folder; experiments that have it have a block of settings NAME.
LOSSES = Path(__file__).parent / "models" / "losses"
# By an experiment's `embedding`.
EMBEDDINGS = {
    "universal": "pipeline.models.universal:UniversalEmbedding",
    "hybrid": "pipeline.models.hybrid:HybridEmbedding",
}
# By the kind of an experiment's `reduction`: embeddings that read words without a vector of their own.
REDUCTIONS = {"dictionary": "pipeline.models.dictionary_embedding:DictionaryEmbedding"}
# By `model.encoder`: embeddings that read no word vectors.
SPELLED = {"liwe": "pipeline.models.liwe:SpelledWords"}

# By `translation.*.provider`; all others are web services.
TRANSLATORS = {
    "dictionary": "pipeline.translation.dictionary:dictionary_translator",
    "marian": "pipeline.translation.marian:MarianTranslator",
    "trained": "pipeline.translation.marian:MarianTranslator",
}
SERVICES = "pipeline.translation.web:WebTranslator"


def load(name: str) -> Any:
    """The object that MODULE:NAME names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def loss(block: str) -> str:
    """The loss that has a block of settings."""
    return f"pipeline.models.losses.{block}:{block.title().replace('_', '')}Loss"


def losses(settings: Block) -> list[str]:
    """The blocks of an experiment's losses."""
    names = (name for name in type(settings).model_fields if getattr(settings, name) is not None)
    return [name for name in names if (LOSSES / f"{name}.py").exists()]


def embedding(settings: Any) -> str:
    """The embedding of an experiment."""
    encoder = getattr(getattr(settings, "model", None), "encoder", "")
    reduction = (getattr(settings, "reduction", None) or "").partition("-")[0]
    chosen = SPELLED.get(encoder) or REDUCTIONS.get(reduction)
    return chosen or EMBEDDINGS[getattr(settings, "embedding", "universal")]


def of_model(settings: Any) -> tuple[str, ...]:
    """Modules that an experiment's model imports by name."""
    return _modules(embedding(settings))


def of_training(settings: Any) -> tuple[str, ...]:
    """Modules that an experiment's training imports by name."""
    return (*of_model(settings), *_modules(*map(loss, losses(settings))))


def of_any_training() -> tuple[str, ...]:
    """Modules of the models and losses of all experiments."""
    return (*of_any_model(), *_modules(*(loss(path.stem) for path in sorted(LOSSES.glob("[a-z]*.py")))))


def of_any_model() -> tuple[str, ...]:
    """Modules that the models of all experiments import by name."""
    return _modules(*EMBEDDINGS.values(), *REDUCTIONS.values(), *SPELLED.values())


def translator(provider: str) -> str:
    """The translator of a provider."""
    return TRANSLATORS.get(provider, SERVICES)


def of_translation(provider: str) -> tuple[str, ...]:
    """Modules of a provider of translations; `files` translates nothing."""
    return () if provider == "files" else _modules(translator(provider))


def _modules(*names: str) -> tuple[str, ...]:
    return tuple(name.partition(":")[0] for name in names)
