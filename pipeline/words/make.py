"""Vocabulary and initial vectors of one language, from the captions that an experiment trains on."""

import dataclasses
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.augment import read_added
from pipeline.datasets.select import own_captions, training_captions
from pipeline.datasets.table import read_sentences
from pipeline.words.settings import WordSettings
from pipeline.words.vectors import read_model, read_vectors, train_model, word_vectors
from pipeline.words.vocabulary import training_words, vocabulary, write_vocabulary


def make_words(
    language: str,
    sentences: Path,
    caption_origin: str,
    translations: Sequence[Path],
    captions: str,
    settings: WordSettings,
    vectors_file: Path | None,
    output: Path,
) -> None:
    """Write the words of the training captions with a FastText vector, and their vectors.

    Args:
        sentences: sentence table with the language's own captions, of origin `caption_origin`.
        translations: sentence tables with translations into the language.
        captions: which of both are trained on: human, human+mt, mt or augmented.
        vectors_file: vectors as text (published), or a FastText model (`.bin`), which has a vector for every
            word; None trains them on the training captions.
    """
    chosen = training_sentences(language, sentences, caption_origin, translations, captions)
    words = training_words(chosen)
    if vectors_file is None:
        vectors = word_vectors(train_model(chosen, settings), words)
    elif vectors_file.suffix == ".bin":
        vectors = word_vectors(read_model(vectors_file, settings.dimension), words)
    else:
        vectors = read_vectors(vectors_file, words, settings)
    attributes: dict[str, str | int] = {
        "vectors": vectors_file.name if vectors_file else "trained",
        "settings": json.dumps(dataclasses.asdict(settings)),
        "training_captions": len(chosen),
        "training_tokens": sum(len(tokens.split()) for tokens in chosen),
        "training_words": len(words),
        "fasttext": version("fasttext-community"),
    }
    write_vocabulary(vocabulary(language, words, vectors), attributes, output)


def training_sentences(
    language: str, sentences: Path, caption_origin: str, translations: Sequence[Path], captions: str
) -> list[str]:
    """Tokens of the captions of a language that an experiment trains on; arguments as of `make_words`."""
    table = read_sentences(sentences)
    of_language = table[table["language"] == language]
    if of_language.empty:
        raise InputError(
            f"{sentences}: no captions in {language!r}; it has {sorted(table['language'].unique())}."
        )
    own = own_captions(of_language, caption_origin)
    read = read_added if captions == "augmented" else read_sentences
    chosen = training_captions(own, [read(path) for path in translations], captions)
    training = chosen[chosen["split"] == "train"]
    if training.empty:
        raise InputError(f"{sentences}: no captions in {language!r} to train on under captions: {captions}.")
    return list(training["tokens"])
