"""Tokens of captions, one tokeniser for each language.

The MULE paper names no tokeniser and says nothing of punctuation. Ours:

- European and other spaced languages: Moses, as in Multi30K's published `lc.norm.tok` files (lower-cased,
  punctuation normalised, tokenised), without its HTML escapes.
  Languages without rules in Moses get its general rules, and a warning.
- Chinese: jieba, with its hidden Markov model for words that its dictionary lacks.
- Arabic, Korean, and languages of scripts other than Latin, Cyrillic, Greek and Hebrew, such as Persian and
  Hindi: ICU's word boundaries, by which the text of FastText's published vectors was split (Grave et al.
  2018). They keep words together that are written with joiners (U+200C, U+200D).
- Japanese: SudachiPy, mode A (shortest units, the nearest to the MeCab units of FastText's vectors).
- Tokens without a letter or digit are dropped: the mean of the word vectors (u) would give a full stop
  the weight of a noun, and Chinese and Japanese marks have no counterpart in the other languages.
"""

import functools
import logging
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.progress import with_progress
from pipeline.datasets.languages import language as row_of
from pipeline.datasets.languages import without_tokenizer
from pipeline.datasets.table import read_captions, write_sentences

log = logging.getLogger("pipeline")

Tokenizer = Callable[[str], list[str]]

_TURKISH = str.maketrans("Iİ", "ıi")  # lower() would turn I into i with a dot, and İ into i with two
# Characters inside words, also in the published text: soft hyphens, zero-width spaces, direction marks.
_INVISIBLE = str.maketrans(
    dict.fromkeys(
        "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
    )
    | dict.fromkeys("\u115f\u1160\u2800\u3164\uffa0", " ")
)
_JOINERS = str.maketrans(dict.fromkeys("\u200c\u200d"))


def tokenize_captions(captions: Path, language: str, output: Path) -> None:
    """Tokenise the captions of one language.

    Args:
        captions: caption table.
        language: ISO 639-1 code.
        output: sentence table to write.

    Raises:
        InputError: the table has no captions in the language, or as `with_tokens`.
    """
    table = read_captions(captions)
    of_language = table[table["language"] == language]
    if of_language.empty:
        languages = ", ".join(sorted(table["language"].unique()))
        raise InputError(f"{captions}: no captions in {language!r}; the table has {languages}.")
    write_sentences(with_tokens(of_language, language), output)


def with_tokens(captions: pd.DataFrame, language: str) -> pd.DataFrame:
    """Add `tokens` to captions of one language; rows without a word are left out, and counted in the log.

    Raises:
        InputError: no caption has a word, or the language has no tokeniser.
    """
    split = tokenizer(language)
    texts = with_progress(captions["caption"], f"{language} captions", len(captions))
    sentences = captions.assign(tokens=[" ".join(split(text)) for text in texts])
    empty = sentences["tokens"] == ""
    if empty.all():
        raise InputError(f"None of the {len(empty)} captions in {language!r} has a word.")
    if empty.any():
        log.warning(
            "%d of %d captions in %s have no word and are left out", empty.sum(), len(empty), language
        )
    return sentences[~empty]


@functools.cache
def tokenizer(language: str) -> Tokenizer:
    """A function from a caption to its lower-cased words, without punctuation.

    Raises:
        InputError: the language is written without spaces, and no tokeniser is known for it.
    """
    if mistake := without_tokenizer(language):
        raise InputError(f"{mistake}.")
    split = TOKENIZERS[row_of(language).tokenizer](language)
    return lambda caption: [token for token in split(caption) if any(map(str.isalnum, token))]


def moses(language: str) -> Tokenizer:
    """Multi30K's preprocessing: lower case, Moses punctuation normalisation, Moses tokeniser.

    Accents are joined with their letters first (NFC), because Moses splits words at separate accents.
    """
    from sacremoses import MosesPunctNormalizer, MosesTokenizer
    from sacremoses.corpus import NonbreakingPrefixes

    row = row_of(language)
    if language not in NonbreakingPrefixes().available_langs and not row.general_rules:
        log.warning(
            "Moses has no rules for %r: words are split at spaces and punctuation, also at apostrophes, and "
            "a full stop stays with English abbreviations; look at the tokens", language,
        )  # fmt: skip
    normalizer, splitter = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)

    def split(caption: str) -> list[str]:
        text = unicodedata.normalize("NFC", caption.translate(_INVISIBLE | _JOINERS))
        text = (text.translate(_TURKISH) if row.dotted_i else text).lower()
        words: list[str] = splitter.tokenize(normalizer.normalize(text), escape=False)
        return words

    return split


def _jieba(language: str) -> Tokenizer:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    words = jieba.Tokenizer()
    # It keeps its prefix dictionary in the temporary folder, under a name at which anyone on the machine may
    # have put a file, and executes what it reads there (marshal): a folder that only this process uses
    # instead.
    with tempfile.TemporaryDirectory() as folder:
        words.tmp_dir = folder
        words.initialize()
    return lambda caption: words.lcut(_nfkc(caption), HMM=True)


def _sudachi(language: str) -> Tokenizer:
    import sudachipy

    words = sudachipy.Dictionary(dict="small").tokenizer(mode=sudachipy.SplitMode.A)
    return lambda caption: [word.surface() for word in words.tokenize(_nfkc(caption))]


def _icu(language: str) -> Tokenizer:
    from icu4py.breakers import WordBreaker

    return lambda caption: list(WordBreaker(_nfc(caption), language))


def _nfc(caption: str) -> str:
    """Lower-cased, accents joined with their letters."""
    return unicodedata.normalize("NFC", caption.translate(_INVISIBLE)).lower()


def _nfkc(caption: str) -> str:
    """Full-width digits and letters as ASCII, lower-cased."""
    return unicodedata.normalize("NFKC", caption.translate(_INVISIBLE)).lower()


# Functions that return a language's tokeniser, by the name in the table of languages.
TOKENIZERS = {"moses": moses, "jieba": _jieba, "sudachi": _sudachi, "icu": _icu}
