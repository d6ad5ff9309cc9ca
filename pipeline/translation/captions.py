"""Translation of the captions of one language into another: the stage `translate`."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.captions import SPLITS
from pipeline.datasets.split import read_split
from pipeline.datasets.table import read_captions, read_sentences, write_sentences
from pipeline.translation.settings import FilesProvider, ProviderBlock
from pipeline.translation.translate import published_translations, translate, translator_of, write_report


def translate_captions(
    source: str,
    target: str,
    settings: ProviderBlock,
    output: Path,
    report: Path | None = None,
    sentences: Path | None = None,
    source_origin: str = "human",
    splits: Sequence[str] = (),
    dictionaries: Sequence[Path] = (),
    target_sentences: Path | None = None,
    cache: Path | None = None,
    requests_per_second: float = 1.0,
    captions: Path | None = None,
    images: Path | None = None,
) -> None:
    """Translate the captions of one language into another.

    Args:
        source: ISO 639-1 code.
        target: ISO 639-1 code.
        settings: JSON: a provider with its settings, such as {"provider": "google"} (docs/translation.md).
        output: sentence table to write.
        report: JSON to write: what was left out, and why.
        sentences: sentence table of the source language (every provider but files).
        source_origin: origin of the captions to translate.
        splits: train, val, test; default: all.
        dictionaries: with dictionary: en-de.txt or de-en.txt, in MUSE's format.
        target_sentences: with dictionary: sentence table of the target language, whose training captions
            decide between a word's translations.
        cache: with marian and services: SQLite file of all translations, created if missing.
        requests_per_second: with services.
        captions: with files: caption table that contains the translations.
        images: with files: output of `split`: keep only its images, with its split.
    """
    version = ""
    if isinstance(settings, FilesProvider):
        if captions is None:
            raise InputError("provider files: --captions is missing, the table that has the translations.")
        split = read_split(images) if images else None
        translations = published_translations(read_captions(captions), source, target, settings.origin, split)
    else:
        if sentences is None:
            raise InputError(
                f"provider {settings.provider}: --sentences is missing, the captions to translate."
            )
        translator = translator_of(
            settings, source, target, dictionaries, target_sentences, cache, requests_per_second
        )
        version = translator.version
        table = read_sentences(sentences)
        translations = translate(table, translator, settings.provider, source_origin, splits or SPLITS)
    if report is not None:
        pair = {"provider": settings.provider, "version": version, "source": source, "target": target}
        write_report(report, translations, **pair)
    write_sentences(translations.table, output)
