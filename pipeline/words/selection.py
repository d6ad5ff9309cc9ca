"""The data of an experiment of *Lessons*: its captions, and the joint vocabulary of its languages.

A word is in the table if it occurs often enough in the training captions of one of the languages (Sections 3
and 4); all others are UNK, and each caption is enclosed in <start> and <end>. All this is written into the
captions' tokens, so the files show what a model reads.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import raise_together
from pipeline.datasets.sampling import caption_sample, halves
from pipeline.datasets.split import read_split
from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.words.settings import SelectionSettings
from pipeline.words.vocabulary import PADDING, Vocabulary, write_vocabulary

log = logging.getLogger("pipeline")

UNKNOWN, START, END = "<unk>", "<start>", "<end>"


def select_captions(settings: SelectionSettings, parts: Sequence[Path], split: Path, output: Path) -> None:
    """Select the captions and words of an experiment of *Lessons*.

    Written are LANGUAGE.csv and LANGUAGE.h5 of each language, and pairs-LANGUAGE.csv if pairs are formed from
    other texts, as in the public code.

    Args:
        settings: JSON: min_count, dimension, sampling_seed, halves, pairs_of, and for each of `languages`
            parts, tested_on, captions_per_image, images.
        parts: sentence table of each part of the data, named PART/LANGUAGE.csv (comparable/en.csv).
        split: output of `split`, whose training images are halved.
        output: folder to write.

    Raises:
        InputError: lists every language with training captions of fewer than two images.
    """
    by_name = {f"{path.parent.name}/{path.stem}": path for path in parts}
    selection = _Selection(settings, by_name, read_split(split))
    tables = {language: selection.captions(language) for language in settings.languages}
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
    for language in settings.languages:
        write_sentences(_with_known_words(tables[language], known), output / f"{language}.csv")
        vocabulary = Vocabulary(language, all_words, vectors)
        write_vocabulary(vocabulary, {"vectors": "scratch"}, output / f"{language}.h5")
        if settings.pairs_of != "selected":
            pairs = selection.captions_to_pair(language)
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


@dataclass(frozen=True)
class _Selection:
    """The captions of an experiment: `parts` by PART/LANGUAGE, sampled and halved as the settings say."""

    settings: SelectionSettings
    parts: Mapping[str, Path]
    split: Mapping[str, str]

    def captions(self, language: str) -> pd.DataFrame:
        """Training and validation captions of a language, and the test captions of one part.

        All count as the language's own captions, even human translations: their source language is left out.
        """
        chosen = self.settings.languages[language]
        captions = self._sampled(language, self.settings.sampling_seed)
        if chosen.images != "all":
            own = language if self.settings.halves == "per_language" else None
            half_of = halves(self.split, self.settings.sampling_seed, own)
            is_chosen = captions["image"].map(half_of) == chosen.images
            captions = captions[(captions["split"] != "train") | is_chosen]
        test = read_sentences(self.parts[f"{chosen.tested_on}/{language}"])
        both = pd.concat([captions, test[test["split"] == "test"]], ignore_index=True)
        return both.assign(source_language="")

    def captions_to_pair(self, language: str) -> pd.DataFrame:
        """Training captions of all images, perhaps of another sample, which the public code pairs."""
        another = 1 if self.settings.pairs_of == "sampled_again" else 0
        captions = self._sampled(language, self.settings.sampling_seed + another)
        return captions[captions["split"] == "train"].assign(source_language="")

    def _sampled(self, language: str, seed: int) -> pd.DataFrame:
        """Training and validation captions of a language's parts."""
        chosen = self.settings.languages[language]
        tables = [read_sentences(self.parts[f"{part}/{language}"]) for part in chosen.parts]
        if chosen.captions_per_image:
            tables = [caption_sample(table, chosen.captions_per_image, seed) for table in tables]
        captions = pd.concat(tables, ignore_index=True)
        return captions[captions["split"] != "test"]


def _with_known_words(table: pd.DataFrame, vocabulary: set[str]) -> pd.DataFrame:
    def mark(tokens: str) -> str:
        words = (word if word in vocabulary else UNKNOWN for word in tokens.split())
        return " ".join([START, *words, END])

    return table.assign(tokens=[mark(tokens) for tokens in table["tokens"]])
