"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translators against human references.

Both by sacrebleu (Post 2018), whose signatures are in the table. BLEU tokenises with
sacrebleu's default (13a) in European languages and with its Chinese tokeniser in Chinese. In Japanese it
counts single characters, since words would need MeCab. chrF needs no words.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.datasets.languages import language
from pipeline.translation.parallel import pairs_between, parallel_captions
from pipeline.translation.settings import ProviderBlock
from pipeline.translation.translate import Translator, translator_of

COLUMNS = [
    "scale", "dataset", "split", "source", "target", "provider", "version", "sentences",
    "without_translation", "BLEU", "chrF", "BLEU_signature", "chrF_signature", "note",
]  # fmt: skip

NO_REFERENCE = "no human translation of the same sentences"


def measure_translation_quality(
    source: str,
    target: str,
    scale: str,
    dataset: str,
    output: Path,
    settings: ProviderBlock | None = None,
    multi30k: Path | None = None,
    captions: Sequence[Path] = (),
    dictionaries: Sequence[Path] = (),
    target_sentences: Path | None = None,
    translator: Path | None = None,
    cache: Path | None = None,
    requests_per_second: float = 1.0,
) -> None:
    """Measure BLEU and chrF of one language pair against human translations.

    Args:
        source: ISO 639-1 code.
        target: ISO 639-1 code.
        scale: value of the column `scale`.
        dataset: name of the data set in the table.
        output: CSV to write.
        settings: JSON: a provider with its settings (docs/translation.md), measured together with the
            published translations; default: only these.
        multi30k: folder with the files of Multi30K's task 1, laid out as HOST/PATH, in place of captions.
        captions: caption tables of both languages.
        dictionaries: with dictionary: en-de.txt or de-en.txt, in MUSE's format.
        target_sentences: with dictionary: sentence table of the target language, whose training captions
            decide between a word's translations.
        translator: with trained: output of `train-translator`.
        cache: with marian, trained and services: SQLite file of all translations, created if missing.
        requests_per_second: with services.
    """
    parallel = parallel_captions(multi30k, captions, "test")
    chosen, provider = None, settings.provider if settings else "files"
    if settings and provider != "files" and not pairs_between(parallel, source, target).empty:
        chosen = translator_of(
            settings, source, target, dictionaries, target_sentences, translator, cache, requests_per_second
        )
    rows = quality_table(parallel, source, target, chosen, provider)
    with atomic_write(output) as temporary:
        rows.assign(scale=scale, dataset=dataset, split="test").to_csv(temporary, index=False)


def quality_table(
    parallel: pd.DataFrame,
    source: str,
    target: str,
    translator: Translator | None = None,
    provider: str = "",
) -> pd.DataFrame:
    """Scores of a translator, and of the translations published with the data, for one pair of languages.

    Human translations serve in both directions: translated back, they are measured against the captions.

    Args:
        parallel: sentences and their translations, as `translations_in` gives them.
        translator: None: only published translations. provider: its name in the table.

    Returns:
        One row per translator, without scale, dataset and split. If the pair has no human translations, one
        row with a note and no scores.
    """
    pairs = pairs_between(parallel, source, target)
    human = pairs[pairs["origin"] == "human"]
    if human.empty:
        return pd.DataFrame([{"source": source, "target": target, "note": NO_REFERENCE}])
    captions, references = list(human["caption"]), list(human["translation"])
    translations = []
    for origin, published in pairs[pairs["origin"] != "human"].groupby("origin"):
        answers = published.set_index("sentence")["translation"].reindex(human["sentence"], fill_value="")
        translations.append((origin, "published", list(answers)))
    if translator is not None:
        translations.append((provider, translator.version, translator.translate(captions)))
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
    table = pd.concat([pd.read_csv(path, dtype=str) for path in parts], ignore_index=True)
    rows = table.reindex(columns=COLUMNS).sort_values(["dataset", "source", "target", "provider"])
    with atomic_write(output) as temporary:
        rows.to_csv(temporary, index=False, lineterminator="\n")
