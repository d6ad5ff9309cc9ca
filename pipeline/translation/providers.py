"""Providers of translations: which arguments each needs, and the translators of those that translate.

Translators are imported by name, so that each counts only where it is used (`pipeline.registry`).
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args

from pipeline.common.errors import raise_together
from pipeline.translation.settings import Limits, Service, TranslatorSettings
from pipeline.translation.translate import Translator

Provider = Literal["dictionary", "files", "marian", Service]
SERVICES: tuple[str, ...] = get_args(Service)
MACHINES = ("marian", *SERVICES)

# Every provider accepts the path of the cache and the limits of requests; only machines use them.
_NEEDS = {
    "dictionary": ("sentences", "dictionaries"),
    "files": ("captions", "origin"),
    **dict.fromkeys(MACHINES, ("sentences", "cache")),
}
_OPTIONS = {
    "dictionary": ("source_origin", "splits", "target_sentences", "cache", "limits"),
    "files": ("cache", "limits", "images"),
    **dict.fromkeys(MACHINES, ("source_origin", "splits", "settings", "limits")),
}


def check_arguments(provider: str, source: str, target: str, arguments: Mapping[str, object]) -> None:
    """Raise for arguments that a provider lacks, or that belong to another; None stands for no argument."""
    names = {name for name, value in arguments.items() if value is not None}
    missing = (arguments.keys() & set(_NEEDS[provider])) - names
    foreign = names - {*_NEEDS[provider], *_OPTIONS[provider]}
    mistakes = [f"{_option(name)} is missing" for name in _NEEDS[provider] if name in missing]
    mistakes += [f"{_option(name)} belongs to another provider" for name in sorted(foreign)]
    if source == target:
        mistakes.append(f"--source and --target are both {source!r}")
    raise_together(mistakes, f"--provider {provider}: cannot start:")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def translator_of(
    provider: str,
    source: str,
    target: str,
    dictionaries: Sequence[Path] | None,
    target_sentences: Path | None,
    cache: Path | None,
    settings: TranslatorSettings | None,
    limits: Limits | None,
) -> tuple[Translator, str]:
    """The translator of a pair of languages and the version of its model, from its provider's arguments."""
    if provider == "dictionary":
        module = import_module("pipeline.translation.dictionary")
        counts = module.training_word_counts(target_sentences, target)
        return module.DictionaryTranslator(source, target, dictionaries, counts), ""
    machine = import_module("pipeline.translation.machine")
    translator = machine.machine_translator(
        provider, source, target, settings or TranslatorSettings(), cache, limits or Limits()
    )
    return translator, translator.engine.model.version
