"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translators against human references.

Both by sacrebleu (Post 2018), whose signatures stand in the table. BLEU's words are its default's (13a) in
European languages, its Chinese tokeniser's in Chinese, and single characters in Japanese, where words
would need MeCab; chrF needs no words.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.datasets.languages import language
from pipeline.translation.translate import Translator

COLUMNS = [
    "scale", "dataset", "split", "source", "target", "provider", "version", "sentences",
    "without_translation", "BLEU", "chrF", "BLEU_signature", "chrF_signature", "note",
]  # fmt: skip

NO_REFERENCE = "no translation of the same sentences by people"


def measured(
    parallel: pd.DataFrame,
    source: str,
    target: str,
    translator: Translator | None = None,
    provider: str = "",
    version: str = "",
) -> pd.DataFrame:
    """Scores of a translator, and of the translations published with the data, for one pair of languages.

    People's translations serve both ways: their sentences translated back are measured against the
    captions.

    Args:
        parallel: sentences and their translations (parallel.py).
        translator: None: published ones alone. provider, version: its name in the table.

    Returns:
        One row a translator, without scale, dataset and split; where people translated nothing of the
        pair, one row with a note and no scores.
    """
    pairs = of_pair(parallel, source, target)
    by_people = pairs[pairs["origin"] == "human"]
    if by_people.empty:
        return pd.DataFrame([{"source": source, "target": target, "note": NO_REFERENCE}])
    captions, references = list(by_people["caption"]), list(by_people["translation"])
    found = {
        (origin, ""): _published(pairs[pairs["origin"] == origin], by_people["sentence"])
        for origin in sorted(set(pairs["origin"]) - {"human"})
    }
    if translator is not None:
        found[provider, version] = translator.translate(captions)
    rows = [
        {"provider": name, "version": of, **scores(answers, references, target)}
        for (name, of), answers in found.items()
    ]
    return pd.DataFrame(rows).assign(source=source, target=target)


def scores(answers: Sequence[str], references: Sequence[str], target: str) -> dict[str, float | int | str]:
    """BLEU and chrF of a corpus, 0 to 100, with one reference per sentence; missing translations are empty.

    Args:
        target: language of both, which decides what BLEU's words are.
    """
    from sacrebleu.metrics import BLEU, CHRF

    bleu, chrf = BLEU(tokenize=language(target).bleu), CHRF()
    return {
        "sentences": len(references),
        "without_translation": sum(not answer.strip() for answer in answers),
        "BLEU": round(bleu.corpus_score(answers, [references]).score, 2),
        "chrF": round(chrf.corpus_score(answers, [references]).score, 2),
        "BLEU_signature": str(bleu.get_signature()),
        "chrF_signature": str(chrf.get_signature()),
    }


def gather(parts: Sequence[Path], output: Path) -> None:
    """Write the rows of several files as one table, ordered by data set, languages and provider."""
    tables = [
        pd.read_csv(require_file(path, "a part of the table", "Run translation-quality."), dtype=str)
        for path in parts
    ]
    write(pd.concat(tables, ignore_index=True), output)


def write(table: pd.DataFrame, output: Path) -> None:
    """Write a table of scores, with all columns, in its order."""
    if unknown := sorted(set(table.columns) - set(COLUMNS)):
        raise InputError(f"Not a table of translation quality: found columns {', '.join(unknown)}.")
    ordered = table.reindex(columns=COLUMNS).sort_values(["dataset", "source", "target", "provider"])
    with atomic_write(output) as temporary:
        ordered.to_csv(temporary, index=False, lineterminator="\n")


def of_pair(parallel: pd.DataFrame, source: str, target: str) -> pd.DataFrame:
    """Sentences of a language pair with their translations; human ones serve in both directions."""
    forwards = parallel[(parallel["source"] == source) & (parallel["target"] == target)]
    if not forwards.empty:
        return forwards
    back = parallel[
        (parallel["source"] == target) & (parallel["target"] == source) & (parallel["origin"] == "human")
    ]
    return back.rename(columns={"caption": "translation", "translation": "caption"})


def _published(published: pd.DataFrame, sentences: pd.Series) -> list[str]:
    answers = dict(zip(published["sentence"], published["translation"], strict=True))
    return [answers.get(sentence, "") for sentence in sentences]
