"""Vocabulary and initial vectors of one language, from the captions that an experiment trains on."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pipeline.common.errors import InputError
from pipeline.datasets.select import added_translations, original_captions, training_captions
from pipeline.datasets.table import read_sentences
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import read_model, read_vectors, train_model, word_vectors, write_model
from pipeline.words.vocabulary import training_words, vocabulary, write_vocabulary

Captions = Literal["human", "human+mt", "mt", "augmented"]


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
    """Write the words of the training captions with a FastText vector, and their vectors.

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
    words = training_words(training)
    if vectors_file is None:
        vectors = word_vectors(train_model(training, settings), words)
    elif vectors_file.suffix == ".bin":
        vectors = word_vectors(read_model(vectors_file, settings.dimension), words)
    else:
        vectors = read_vectors(vectors_file, words, settings)
    attributes: dict[str, str | int] = {
        "vectors": vectors_file.name if vectors_file else "trained",
        "settings": settings.as_json(),
        "training_captions": len(training),
        "training_tokens": sum(len(tokens.split()) for tokens in training),
        "training_words": len(words),
        "fasttext": version("fasttext-community"),
    }
    write_vocabulary(vocabulary(language, words, vectors), attributes, output)


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
