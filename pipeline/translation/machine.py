"""Translators whose answers are cached: web services, and Marian models run locally.

An engine is imported by name, so that each counts only where it is used (`pipeline.registry`).
"""

import dataclasses
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.common.errors import raise_together
from pipeline.translation.cache import Cache
from pipeline.translation.cached_translator import CachedTranslator
from pipeline.translation.limits import Limits

_MARIAN = ("model", "revision", "prefix", "beams", "batch_size", "device")
_SERVICE = ("url", "version", "codes")


def machine_translator(
    provider: str,
    source: str,
    target: str,
    settings: Mapping[str, Any],
    cache: Path,
    limits: Mapping[str, Any],
) -> CachedTranslator:
    """The translator of one pair of languages.

    Args:
        provider: one of `providers.MACHINES`.
        settings: for marian `model`, `revision`, `prefix`, `beams`, `batch_size`, `device` (marian.py); in
            `model`, {source} and {target} stand for the languages. For services `url`, another address,
            `version`, which a user changes to have all asked for anew, and `codes`, the service's codes of
            languages where they are not those known.
        limits: values of `Limits` (web.py); what is not given has its default.

    Raises:
        InputError: lists unknown settings; or the provider cannot be used.
    """
    _check(provider, settings, limits)
    opened = Cache(cache)
    if provider == "marian":
        engine = import_module("pipeline.translation.marian").MarianEngine(source, target, **settings)
    else:
        web = import_module("pipeline.translation.web")
        engine = web.web_engine(provider, source, target, settings, opened, limits)
    return CachedTranslator(engine, opened)


def _check(provider: str, settings: Mapping[str, Any], limits: Mapping[str, Any]) -> None:
    known = _MARIAN if provider == "marian" else _SERVICE
    mistakes = [*_unknown("settings", settings, known)]
    mistakes += _unknown("limits", limits, [field.name for field in dataclasses.fields(Limits)])
    if provider == "marian" and not settings.get("model"):
        mistakes.append("`model` is missing: a folder or a name, such as Helsinki-NLP/opus-mt-en-de")
    if provider == "libre" and not settings.get("url"):
        mistakes.append("`url` is missing: the address of your server, such as http://localhost:5000")
    raise_together(mistakes, f"provider {provider}: cannot start:")


def _unknown(what: str, given: Mapping[str, Any], known: Collection[str]) -> list[str]:
    return [f"{what}: unknown key {key!r}; known are {', '.join(known)}" for key in given if key not in known]
