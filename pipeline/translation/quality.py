"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translators against human references.

Both by sacrebleu (Post 2018), whose signatures are in the table. BLEU's words are its default's (13a) in
European languages, its Chinese tokeniser's in Chinese, and single characters in Japanese, where words
would need MeCab; chrF needs no words.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.datasets.languages import language
from pipeline.datasets.table import read_captions
from pipeline.translation.parallel import NO_TRANSLATIONS, multi30k_translations, translations_in
from pipeline.translation.providers import Provider, check_arguments, translator_of
from pipeline.translation.settings import Limits, TranslatorSettings
from pipeline.translation.translate import Translator

COLUMNS = [
    "scale", "dataset", "split", "source", "target", "provider", "version", "sentences",
    "without_translation", "BLEU", "chrF", "BLEU_signature", "chrF_signature", "note",
]  # fmt: skip

NO_REFERENCE = "no human translation of the same sentences"


def measure_translation_quality(
    source: str,
    target: str,
    provider: Provider,
    scale: str,
    dataset: str,
    output: Path,
    multi30k: Path | None = None,
    captions: Sequence[Path] | None = None,
    dictionaries: Sequence[Path] | None = None,
    target_sentences: Path | None = None,
    cache: Path | None = None,
    settings: TranslatorSettings | None = None,
    limits: Limits | None = None,
) -> None:
    """Measure BLEU and chrF of one language pair against human translations.

    Args:
        source: ISO 639-1 code.
        target: ISO 639-1 code.
        provider: measured together with the published translations, or `files`, for only these.
        scale: value of the column `scale`.
        dataset: name of the data set in the table.
        output: CSV to write.
        multi30k: folder with the files of Multi30K's task 1, laid out as HOST/PATH.
        captions: caption tables of both languages.
        dictionaries: with dictionary: en-de.txt or de-en.txt, in MUSE's format.
        target_sentences: with dictionary: sentence table of the target language, whose training captions
            decide between a word's translations.
        cache: with marian and services: SQLite file of all translations, created if missing.
        settings: with marian and services: JSON: settings of the provider, such as model or url.
        limits: with services: JSON: limits on requests (docs/translation.md).
    """
    arguments = {
        "dictionaries": dictionaries, "target_sentences": target_sentences, "cache": cache,
        "settings": settings, "limits": limits,
    }  # fmt: skip
    check_arguments(provider, source, target, arguments)
    parallel = _parallel(multi30k, captions)
    translator, version = None, ""
    if provider != "files" and not pairs_between(parallel, source, target).empty:
        translator, version = translator_of(
            provider, source, target, dictionaries, target_sentences, cache, settings, limits
        )
    rows = quality_table(parallel, source, target, translator, provider, version)
    write_quality(rows.assign(scale=scale, dataset=dataset, split="test"), output)


def _parallel(multi30k: Path | None, captions: Sequence[Path] | None) -> pd.DataFrame:
    if multi30k is not None and captions is not None:
        raise InputError("Give --multi30k or --captions, not both: where the human translations are.")
    if multi30k is not None:
        return multi30k_translations(multi30k)
    if captions is None:
        return NO_TRANSLATIONS
    return translations_in(pd.concat(map(read_captions, captions), ignore_index=True))


def quality_table(
    parallel: pd.DataFrame,
    source: str,
    target: str,
    translator: Translator | None = None,
    provider: str = "",
    version: str = "",
) -> pd.DataFrame:
    """Scores of a translator, and of the translations published with the data, for one pair of languages.

    Human translations serve in both directions: translated back, they are measured against the captions.

    Args:
        parallel: sentences and their translations (parallel.py).
        translator: None: only published translations. provider, version: its name in the table.

    Returns:
        One row per translator, without scale, dataset and split. If the pair has no human translations, one
        row with a note and no scores.
    """
    pairs = pairs_between(parallel, source, target)
    human = pairs[pairs["origin"] == "human"]
    if human.empty:
        return pd.DataFrame([{"source": source, "target": target, "note": NO_REFERENCE}])
    captions, references = list(human["caption"]), list(human["translation"])
    translations = [
        (origin, "published", _published_translations(pairs[pairs["origin"] == origin], human["sentence"]))
        for origin in sorted(set(pairs["origin"]) - {"human"})
    ]
    if translator is not None:
        translations.append((provider, version, translator.translate(captions)))
    rows = [
        {"provider": name, "version": version_of, **scores(answers, references, target)}
        for name, version_of, answers in translations
    ]
    return pd.DataFrame(rows).assign(source=source, target=target)


def scores(answers: Sequence[str], references: Sequence[str], target: str) -> dict[str, float | int | str]:
    """BLEU and chrF of a corpus, 0 to 100, with one reference per sentence; missing translations are empty.

    Args:
        target: language of both, which decides what BLEU's words are.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(tokenize=language(target).bleu), CHRF()
    return {
        "sentences": len(references),
        "without_translation": sum(not answer.strip() for answer in answers),
        "BLEU": round(bleu.corpus_score(answers, [references]).score, 2),
        "chrF": round(chrf.corpus_score(answers, [references]).score, 2),
        "BLEU_signature": str(bleu.get_signature()),
        "chrF_signature": str(chrf.get_signature()),
    }


def tabulate_translation_quality(parts: Sequence[Path], output: Path) -> None:
    """Write the rows of several files as one table, ordered by data set, languages and provider.

    Args:
        parts: outputs of `measure-translation-quality`.
        output: CSV to write.
    """
    tables = [
        pd.read_csv(require_file(path, "a part of the table", "Run measure-translation-quality."), dtype=str)
        for path in parts
    ]
    write_quality(pd.concat(tables, ignore_index=True), output)


def write_quality(table: pd.DataFrame, output: Path) -> None:
    """Write a table of scores, with all columns, in its order."""
    if unknown := sorted(set(table.columns) - set(COLUMNS)):
        raise InputError(f"Not a table of translation quality: found columns {', '.join(unknown)}.")
    rows = table.reindex(columns=COLUMNS).sort_values(["dataset", "source", "target", "provider"])
    with atomic_write(output) as temporary:
        rows.to_csv(temporary, index=False, lineterminator="\n")


def pairs_between(parallel: pd.DataFrame, source: str, target: str) -> pd.DataFrame:
    """Sentences of a language pair with their translations; human translations serve in both directions."""
    forwards = parallel[(parallel["source"] == source) & (parallel["target"] == target)]
    if not forwards.empty:
        return forwards
    back = parallel[
        (parallel["source"] == target) & (parallel["target"] == source) & (parallel["origin"] == "human")
    ]
    return back.rename(columns={"caption": "translation", "translation": "caption"})


def _published_translations(translations: pd.DataFrame, sentences: pd.Series) -> list[str]:
    answers = dict(zip(translations["sentence"], translations["translation"], strict=True))
    return [answers.get(sentence, "") for sentence in sentences]
