"""The data of an experiment of *Lessons*: its captions, and the joint vocabulary of its languages.

A word is in the table if it occurs often enough in the training captions of one of the languages (Sections 3
and 4); all others are UNK, and each caption is enclosed in <start> and <end>. All this is written into the
captions' tokens, so the files show what a model reads.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import raise_together
from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.words.settings import SelectedLanguage, SelectionSettings
from pipeline.words.vocabulary import PADDING, Vocabulary, write_vocabulary

log = logging.getLogger("pipeline")

UNKNOWN, START, END = "<unk>", "<start>", "<end>"


def select_captions(settings: SelectionSettings, output: Path) -> None:
    """Select the captions and words of an experiment of *Lessons*.

    Written are LANGUAGE.csv and LANGUAGE.h5 of each language, and pairs-LANGUAGE.csv if pairs are formed from
    other texts, as in the public code.

    Args:
        settings: JSON: min_count, dimension, and for each of `languages` texts, tested_on, halves, half,
            pair_texts.
        output: folder to write.

    Raises:
        InputError: lists every language with training captions of fewer than two images.
    """
    tables = {language: _selected_captions(texts) for language, texts in settings.languages.items()}
    training = {language: table[table["split"] == "train"] for language, table in tables.items()}
    counts = {language: table["image"].nunique() for language, table in training.items()}
    raise_together(
        [
            f"{language}: training captions of {count} images; expected two or more, to tell them apart"
            for language, count in counts.items()
            if count < 2
        ],
        f"{output}: the captions cannot be trained on:",
    )
    words = union_of_words(
        {language: table["tokens"] for language, table in training.items()}, settings.min_count
    )
    known, all_words = set(words), [PADDING, UNKNOWN, START, END, *words]
    vectors = np.zeros((len(all_words), settings.dimension), np.float32)  # training draws them at random
    output.mkdir(parents=True, exist_ok=True)
    for language, texts in settings.languages.items():
        write_sentences(_with_known_words(tables[language], known), output / f"{language}.csv")
        vocabulary = Vocabulary(language, all_words, vectors)
        write_vocabulary(vocabulary, {"vectors": "scratch"}, output / f"{language}.h5")
        if texts.pair_texts is not None:
            every = _selected_captions(SelectedLanguage(texts=texts.pair_texts, tested_on=texts.tested_on))
            pairs = every[every["split"] == "train"]
            write_sentences(_with_known_words(pairs, known), output / f"pairs-{language}.csv")
        log.info("%s: %d training captions of %d images", language, len(training[language]), counts[language])
    log.info("%d words", len(words))


def union_of_words(tokens: Mapping[str, Iterable[str]], minimum_count: int) -> list[str]:
    """Words frequent enough in at least one language, each once, in alphabetical order.

    Args:
        tokens: for each language the tokens of its training captions, joined by blanks.
    """
    frequent: set[str] = set()
    for texts in tokens.values():
        counts = Counter(word for text in texts for word in text.split())
        frequent |= {word for word, count in counts.items() if count >= minimum_count}
    return sorted(frequent)


def _selected_captions(texts: SelectedLanguage) -> pd.DataFrame:
    """Training and validation captions of a language's texts, and the test captions of one.

    All count as the language's own captions, even human translations: their source language is left out.
    """
    captions = pd.concat([read_sentences(Path(path)) for path in texts.texts], ignore_index=True)
    captions = captions[captions["split"] != "test"]
    if texts.halves is not None:
        half = pd.read_csv(texts.halves, dtype=str, keep_default_na=False)
        inside = set(half["image"][half["half"] == texts.half])
        captions = captions[(captions["split"] != "train") | captions["image"].isin(inside)]
    test = read_sentences(Path(texts.tested_on))
    both = pd.concat([captions, test[test["split"] == "test"]], ignore_index=True)
    return both.assign(source_language="")


def _with_known_words(table: pd.DataFrame, vocabulary: set[str]) -> pd.DataFrame:
    def mark(tokens: str) -> str:
        words = (word if word in vocabulary else UNKNOWN for word in tokens.split())
        return " ".join([START, *words, END])

    return table.assign(tokens=[mark(tokens) for tokens in table["tokens"]])
