"""Word-by-word translation with bilingual dictionaries in the format of MUSE (Conneau et al. 2018).

A dictionary has one `source target` pair per line and is named `en-de.txt`. It is read backwards if only the
other direction was published.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.common.files import read_utf8, require_file
from pipeline.common.progress import with_progress
from pipeline.datasets.languages import language
from pipeline.datasets.table import read_sentences
from pipeline.datasets.tokenize import tokenizer

Candidates = dict[str, list[str]]  # word -> translations, the best first

_MAX_SHORT = 2  # letters


class DictionaryTranslator:
    """Replace each word by one translation.

    Of several translations, the one seen most often in `target_words` is taken, then the one listed
    first. In Chinese and Japanese a word that the dictionaries lack is read as the longest words that
    they have, from its left (小女孩 as 小, 女孩). Other unknown words are left out, except numbers and
    words of more than two letters that `target_words` has (names, `t-shirt`): MUSE lists no shorter
    English words, and `a`, `an` and `in` would be false friends in most sentences.

    The translation has spaces in every language, so that the tokeniser of the target keeps its words.

    Args:
        dictionaries: files named `SOURCE-TARGET.txt` or `TARGET-SOURCE.txt`; earlier files come first.
        target_words: counts of words in captions of the target language; empty: not known.
    """

    version = ""  # a dictionary is an input of its job, whose change reruns it

    def __init__(
        self, source: str, target: str, dictionaries: Sequence[Path], target_words: Counter[str] | None = None
    ):
        self.source, self.target = source, target
        self.target_words: Counter[str] = target_words or Counter()
        self._best = {
            # max() keeps the first of equals.
            word: max(candidates, key=lambda candidate: self.target_words[candidate])
            for word, candidates in read_dictionaries(dictionaries, source, target).items()
        }
        self._split = tokenizer(source)

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translations of captions, in order; empty if no word could be translated."""
        return [
            " ".join(part for word in self._split(sentence) for part in self._word(word))
            for sentence in with_progress(sentences, f"{self.source}-{self.target} captions", len(sentences))
        ]

    def _word(self, word: str) -> list[str]:
        if translations := [self._best[part] for part in self._parts(word)]:
            return translations
        stays = word.isdecimal() or (len(word) > _MAX_SHORT and word in self.target_words)
        return [word] if stays else []

    def _parts(self, word: str) -> list[str]:
        """The words of the dictionaries that `word` consists of."""
        if word in self._best or language(self.source).spaced:
            return [word] if word in self._best else []
        parts = []
        start = 0
        while start < len(word):
            ends = range(len(word), start, -1)
            end = next((end for end in ends if word[start:end] in self._best), None)
            if end:
                parts.append(word[start:end])
            start = end or start + 1
        return parts


def dictionary_translator(
    source: str, target: str, dictionaries: Sequence[Path], target_sentences: Path | None
) -> DictionaryTranslator:
    """The translator that counts words in the training captions of a sentence table, if there is one."""
    if target_sentences is None:
        return DictionaryTranslator(source, target, dictionaries)
    table = read_sentences(target_sentences)
    training = table[(table["split"] == "train") & (table["language"] == target)]
    counts = Counter(word for tokens in training["tokens"] for word in tokens.split())
    return DictionaryTranslator(source, target, dictionaries, counts)


def read_dictionaries(paths: Sequence[Path], source: str, target: str) -> Candidates:
    """Translations of each lower-cased source word, best first.

    Forwards, that is the order of the file. Backwards, a target word that lists the source word earlier
    comes first, then the order of the file (MUSE: the more frequent word first). Words that are not in
    the target's script (`was was` in en-ja) are left out.

    Raises:
        InputError: lists files of another pair of languages and lines that are not a pair.
    """
    candidates: Candidates = {}
    mistakes: list[str] = []
    for path in paths:
        if path.stem == f"{source}-{target}":
            pairs = _pairs(path, mistakes)
        elif path.stem == f"{target}-{source}":
            pairs = _invert(_pairs(path, mistakes))
        else:
            mistakes.append(f"{path}: expected the name {source}-{target}.txt or {target}-{source}.txt")
            continue
        for word, translation in pairs:
            translations = candidates.setdefault(word, [])
            if translation not in translations and _in_script(translation, target):
                translations.append(translation)
    raise_together(mistakes, f"The dictionaries cannot translate {source} to {target}:")
    return {word: translations for word, translations in candidates.items() if translations}


def _pairs(path: Path, mistakes: list[str]) -> list[tuple[str, str]]:
    require_file(path, "the dictionary", "Download it (workflow/sources.csv has its URL).")
    lines = read_utf8(path).rstrip("\n").split("\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        match re.split(r"[ \t]+", line.strip().lower()):
            case [word, translation] if word and translation:
                pairs.append((word, translation))
            case _:
                mistakes.append(f"{path}: line {number}: found {line[:60]!r}; expected two words")
    return pairs


def _invert(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    ranks: Counter[str] = Counter()
    with_ranks = []
    for word, translation in pairs:
        with_ranks.append((ranks[word], translation, word))
        ranks[word] += 1
    with_ranks.sort(key=lambda pair: pair[0])  # stable: equal ranks stay in the order of the file
    return [(translation, word) for _, translation, word in with_ranks]


def _in_script(word: str, code: str) -> bool:
    return "LATIN" in language(code).scripts or word.isdecimal() or not word.isascii()
