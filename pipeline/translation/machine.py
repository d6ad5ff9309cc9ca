"""Translators whose answers are cached: web services, and Marian models run locally.

An engine is imported by name, so that each counts only where it is used (`pipeline.registry`).
"""

from importlib import import_module
from pathlib import Path

from pipeline.translation.cache import Cache
from pipeline.translation.cached_translator import CachedTranslator
from pipeline.translation.settings import Limits, MarianProvider, ServiceProvider, TranslatorSettings


def machine_translator(
    provider: str, source: str, target: str, settings: TranslatorSettings, cache: Path, limits: Limits
) -> CachedTranslator:
    """The translator of one pair of languages.

    Args:
        provider: one of `providers.MACHINES`.
        settings: keys of `MarianProvider` or of `ServiceProvider`.
        limits: on requests to a service.

    Raises:
        InputError: lists the settings that the provider lacks or does not know; or it cannot be used.
    """
    values = {"provider": provider, **settings.model_dump(exclude_unset=True)}
    heading = f"provider {provider}: cannot start:"
    answers = Cache(cache)
    if provider == "marian":
        marian = MarianProvider.from_values(values, heading)
        engine = import_module("pipeline.translation.marian").MarianEngine(source, target, marian)
    else:
        service = ServiceProvider.from_values(values, heading)
        web = import_module("pipeline.translation.web")
        engine = web.web_engine(source, target, service, answers, limits)
    return CachedTranslator(engine, answers)
