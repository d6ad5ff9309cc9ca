"""Translation of the captions of one language into another: the stage `translate`."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pipeline.datasets.captions import SPLITS
from pipeline.datasets.split import read_split
from pipeline.datasets.table import read_captions, read_sentences, write_sentences
from pipeline.translation.providers import Provider, check_arguments, translator_of
from pipeline.translation.settings import Limits, TranslatorSettings
from pipeline.translation.translate import published_translations, translate, write_report


def translate_captions(
    source: str,
    target: str,
    provider: Provider,
    output: Path,
    report: Path | None = None,
    sentences: Path | None = None,
    source_origin: str | None = None,
    splits: Sequence[str] | None = None,
    dictionaries: Sequence[Path] | None = None,
    target_sentences: Path | None = None,
    cache: Path | None = None,
    settings: TranslatorSettings | None = None,
    limits: Limits | None = None,
    captions: Path | None = None,
    origin: str | None = None,
    images: Path | None = None,
) -> None:
    """Translate the captions of one language into another.

    Args:
        source: ISO 639-1 code.
        target: ISO 639-1 code.
        provider: dictionary translates word by word; files takes translations published with the data;
            marian is a model on this machine; the others are web services.
        output: sentence table to write.
        report: JSON to write: what was left out, and why.
        sentences: sentence table of the source language (every provider but files).
        source_origin: origin of the captions to translate; default: human.
        splits: train, val, test; default: all.
        dictionaries: with dictionary: en-de.txt or de-en.txt, in MUSE's format.
        target_sentences: with dictionary: sentence table of the target language, whose training captions
            decide between a word's translations.
        cache: with marian and services: SQLite file of all translations, created if missing.
        settings: with marian and services: JSON: settings of the provider, such as model or url.
        limits: with services: JSON: limits on requests (docs/translation.md).
        captions: with files: caption table that contains the translations.
        origin: with files: who made the translations: google, baidu, human.
        images: with files: output of `split`: keep only its images, with its split.
    """
    arguments = {
        "sentences": sentences, "source_origin": source_origin, "splits": splits,
        "dictionaries": dictionaries, "target_sentences": target_sentences,
        "cache": cache, "settings": settings, "limits": limits,
        "captions": captions, "origin": origin, "images": images,
    }  # fmt: skip
    check_arguments(provider, source, target, arguments)
    version = ""
    if captions and origin:
        translations = published_translations(read_captions(captions), source, target, origin)
        if images is not None:
            module = import_module("pipeline.translation.borrowed_translations")
            translations = module.borrowed_translations(translations, read_split(images))
    else:
        assert sentences
        translator, version = translator_of(
            provider, source, target, dictionaries, target_sentences, cache, settings, limits
        )
        translations = translate(
            read_sentences(sentences), translator, provider, source_origin or "human", splits or SPLITS
        )
    if report is not None:
        write_report(report, translations, provider=provider, version=version, source=source, target=target)
    write_sentences(translations.table, output)
