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

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import require_file
from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.words.settings import SelectedLanguage, SelectionSettings
from pipeline.words.vocabulary import PADDING, Vocabulary, write_vocabulary

log = logging.getLogger("pipeline")

UNKNOWN, START, END = "<unk>", "<start>", "<end>"


def select_captions(settings: SelectionSettings, output: Path) -> None:
    """Select the captions and words of an experiment of *Lessons*.

    Args:
        settings: JSON: min_count, dimension, and for each of `languages` texts, tested_on, halves, half,
            pair_texts.
        output: folder to write.
    """
    output.mkdir(parents=True, exist_ok=True)
    write_selection(settings.languages, settings.min_count, settings.dimension, output)


def write_selection(
    texts_of: Mapping[str, SelectedLanguage], minimum_count: int, dimension: int, folder: Path
) -> None:
    """Write `{language}.csv` and `{language}.h5` of each language into an existing folder.

    Also `pairs-{language}.csv`, if pairs are formed from other texts, as in the public code.

    Args:
        minimum_count: minimum number of occurrences of a word in a language's training captions.
        dimension: size of a word vector; training initialises the vectors at random.

    Raises:
        InputError: lists every language without training captions, or with captions of fewer than two images.
    """
    tables = {
        language: _selected_captions(language, of_language) for language, of_language in texts_of.items()
    }
    raise_together(_too_few(tables), f"{folder}: the captions cannot be trained on:")
    words = union_of_words(
        {language: table["tokens"][table["split"] == "train"] for language, table in tables.items()},
        minimum_count,
    )
    vocabulary, table_of_words = set(words), [PADDING, UNKNOWN, START, END, *words]
    vectors = np.zeros((len(table_of_words), dimension), np.float32)
    provenance: dict[str, str | int] = {"vectors": "scratch"}
    for language, table in tables.items():
        write_sentences(_with_known_words(table, vocabulary), folder / f"{language}.csv")
        write_vocabulary(Vocabulary(language, table_of_words, vectors), provenance, folder / f"{language}.h5")
        if (pair_texts := texts_of[language].pair_texts) is not None:
            of_pairs = SelectedLanguage(texts=pair_texts, tested_on=texts_of[language].tested_on)
            every = _selected_captions(language, of_pairs)
            pairs = every[every["split"] == "train"]
            write_sentences(_with_known_words(pairs, vocabulary), folder / f"pairs-{language}.csv")
        training = table[table["split"] == "train"]
        log.info(
            "%s: %d training captions of %d images", language, len(training), training["image"].nunique()
        )
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


def _selected_captions(language: str, texts_of_language: SelectedLanguage) -> pd.DataFrame:
    """Training and validation captions of a language's texts, and the test captions of one.

    All count as the language's own captions, even human translations: their source language is left out.
    """
    texts = pd.concat([read_sentences(Path(path)) for path in texts_of_language.texts], ignore_index=True)
    texts = texts[texts["split"] != "test"]
    if texts_of_language.halves is not None:
        halves = Path(texts_of_language.halves)
        path = require_file(halves, "the list of halves", "Run `python -m pipeline sample-halves`.")
        half = pd.read_csv(path, dtype=str, keep_default_na=False)
        inside = set(half["image"][half["half"] == texts_of_language.half])
        texts = texts[(texts["split"] != "train") | texts["image"].isin(inside)]
    test = read_sentences(Path(texts_of_language.tested_on))
    both = pd.concat([texts, test[test["split"] == "test"]], ignore_index=True)
    other = sorted(set(both["language"]) - {language})
    if other:
        raise InputError(
            f"{texts_of_language.texts[0]}: found captions in {', '.join(other)}; expected {language}."
        )
    return both.assign(source_language="")


def _too_few(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    images = {
        language: table["image"][table["split"] == "train"].nunique() for language, table in tables.items()
    }
    return [
        f"{language}: training captions of {count} images; expected two images or more, to tell them apart"
        for language, count in images.items()
        if count < 2
    ]


def _with_known_words(table: pd.DataFrame, vocabulary: set[str]) -> pd.DataFrame:
    def mark(tokens: str) -> str:
        words = (word if word in vocabulary else UNKNOWN for word in tokens.split())
        return " ".join([START, *words, END])

    return table.assign(tokens=[mark(tokens) for tokens in table["tokens"]])
