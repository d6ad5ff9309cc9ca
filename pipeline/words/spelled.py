"""The spelling of a language's words, for models that read characters (LIWE, Wehrmann et al. 2019).

A vocabulary file like that of word vectors, so that sentences are read the same way: the numbers of a word
are the code points of its characters, 0 after its end. It includes words that no training caption has,
because such a model can read them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pipeline.datasets.table import read_sentences
from pipeline.words.make import Captions, training_sentences
from pipeline.words.vocabulary import training_words, vocabulary, write_vocabulary


def encode_characters(
    language: str,
    sentences: Path,
    max_word_length: int,
    output: Path,
    caption_origin: str = "human",
    translations: Sequence[Path] = (),
    captions: Captions = "human",
) -> None:
    """Write the words of all captions of a language, spelled in the characters of its training captions.

    Args:
        language: ISO 639-1 code.
        sentences: sentence table with the language's own captions.
        caption_origin: origin of the data set's own captions.
        translations: translations into the language.
        captions: which of these captions are trained on.
        max_word_length: characters that are kept of a word.
        output: vocabulary to write (HDF5).
    """
    training = training_sentences(language, sentences, caption_origin, translations, captions)
    table = read_sentences(sentences)
    own = table[(table["language"] == language) & (table["origin"] == caption_origin)]
    words = training_words([*training, *own["tokens"]])
    letters = set().union(*training_words(training))
    vocabulary_of_words = vocabulary(language, words, spellings(words, letters, max_word_length))
    attributes: dict[str, str | int] = {
        "vectors": "code points",
        "training_captions": len(training),
        "training_words": len(training_words(training)),
        "characters": len(letters),
    }
    write_vocabulary(vocabulary_of_words, attributes, output)


def spellings(words: Iterable[str], letters: set[str], longest: int) -> dict[str, np.ndarray]:
    """Code points of each word, (longest,); 0 after its end and for unknown characters.

    A word without any known character is not among them.
    """
    spelling_of = {}
    for word in words:
        row = np.zeros(longest, dtype=np.float32)
        codes = [ord(letter) if letter in letters else 0 for letter in word[:longest]]
        row[: len(codes)] = codes
        if row.any():
            spelling_of[word] = row
    return spelling_of
