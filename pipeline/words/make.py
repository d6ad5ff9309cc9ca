"""Vocabulary and initial vectors of one language, from the captions that an experiment trains on."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from pipeline.common.errors import InputError
from pipeline.datasets.select import added_translations, original_captions, training_captions
from pipeline.datasets.table import read_sentences
from pipeline.words.settings import Captions, WordSettings
from pipeline.words.vectors import read_model, read_vectors, train_model, word_vectors, write_model
from pipeline.words.vocabulary import vocabulary, word_counts, write_vocabulary


def build_vocabulary(
    language: str,
    sentences: Path,
    settings: WordSettings,
    output: Path,
    caption_origin: str = "human",
    translations: Sequence[Path] = (),
    captions: Captions = "human",
    vectors_file: Path | None = None,
) -> None:
    """Write the words of the training captions, and their FastText vectors or, for LIWE, their spellings.

    With spellings, words that only other captions of the language have are included.

    Args:
        language: ISO 639-1 code.
        sentences: sentence table with the language's own captions.
        caption_origin: origin of the data set's own captions.
        translations: translations into the language.
        captions: which of these captions are trained on.
        settings: JSON: vectors, dimension, tokens, seed, casing, ...
        vectors_file: published vectors as text (.vec, .vec.gz), or a FastText model (.bin), which also has
            vectors of unknown words with known subwords; without it, vectors are trained on the training
            captions.
        output: vocabulary to write (HDF5).
    """
    training = training_sentences(language, sentences, caption_origin, translations, captions)
    counts = word_counts(training)
    words = list(counts)
    if settings.max_word_length:
        table = read_sentences(sentences)
        own = table[(table["language"] == language) & (table["origin"] == caption_origin)]
        words = list(word_counts([*training, *own["tokens"]]))
        vectors = spellings(words, set().union(*counts), settings.max_word_length)
    elif vectors_file is None:
        vectors = word_vectors(train_model(training, settings), words)
    elif vectors_file.suffix == ".bin":
        vectors = word_vectors(read_model(vectors_file, settings.dimension), words)
    else:
        vectors = read_vectors(vectors_file, words, settings)
    made = "spelled" if settings.max_word_length else "trained"
    attributes: dict[str, str | int] = {
        "vectors": vectors_file.name if vectors_file else made,
        "settings": settings.as_json(),
        "fasttext": version("fasttext-community"),
    }
    write_vocabulary(vocabulary(language, words, vectors, counts), attributes, output)


def train_word_vectors(
    language: str, sentences: Path, settings: WordSettings, output: Path, caption_origin: str = "human"
) -> None:
    """Train FastText on a language's own training captions, or on published captions.

    Args:
        language: ISO 639-1 code.
        sentences: sentence table with the language's own captions.
        settings: JSON: dimension, tokens, seed, ...
        output: FastText model to write (.bin).
        caption_origin: origin of the data set's own captions.
    """
    training = training_sentences(language, sentences, caption_origin, [], "human")
    write_model(train_model(training, settings), output)


def training_sentences(
    language: str, sentences: Path, caption_origin: str, translations: Sequence[Path], captions: str
) -> list[str]:
    """Tokens of the captions of a language that an experiment trains on; as in `build_vocabulary`."""
    table = read_sentences(sentences)
    of_language = table[table["language"] == language]
    if of_language.empty:
        raise InputError(
            f"{sentences}: no captions in {language!r}; it has {sorted(table['language'].unique())}."
        )
    own = original_captions(of_language, caption_origin)
    added = added_translations(own, list(map(read_sentences, translations)), captions)
    of_training = training_captions(own, added, captions)
    training = of_training[of_training["split"] == "train"]
    if training.empty:
        raise InputError(f"{sentences}: no captions in {language!r} to train on under captions: {captions}.")
    return list(training["tokens"])


def spellings(words: Iterable[str], letters: set[str], longest: int) -> dict[str, np.ndarray]:
    """Code points of each word, (longest,); 0 after its end and for unknown characters.

    They stand in the place of word vectors, so that sentences are read the same way for models that read
    characters (LIWE, Wehrmann et al. 2019). A word without any known character is not among them.
    """
    spelling_of = {}
    for word in words:
        row = np.zeros(longest, dtype=np.float32)
        codes = [ord(letter) if letter in letters else 0 for letter in word[:longest]]
        row[: len(codes)] = codes
        if row.any():
            spelling_of[word] = row
    return spelling_of
