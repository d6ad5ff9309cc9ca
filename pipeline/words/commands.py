"""Command line of the words: words, spell, reduce-words, align, pretrain-bert, sentence-vectors."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.arguments import json_object
from pipeline.common.gpus import add_gpus, take_gpu
from pipeline.words.selection_commands import add_select

if TYPE_CHECKING:
    from pipeline.words.settings import WordSettings


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this package."""
    parser = subparsers.add_parser("words", help="build the vocabulary and word vectors of one language")
    _add_captions(parser)
    parser.add_argument(
        "--settings", default="{}", help="JSON: vectors, dimension, tokens, seed, casing, ..."
    )
    parser.add_argument(
        "--vectors-file", type=Path, help="FastText .vec or .vec.gz (vectors: file), or a model, .bin"
    )
    parser.add_argument("--output", type=Path, required=True, help="HDF5 file")
    parser.set_defaults(run=_words)
    parser = subparsers.add_parser("spell", help="encode a language's words as characters (LIWE)")
    _add_captions(parser)
    parser.add_argument(
        "--longest", type=int, required=True, help="maximum number of characters kept of a word"
    )
    parser.add_argument("--output", type=Path, required=True, help="HDF5 file")
    parser.set_defaults(run=_spell)
    parser = subparsers.add_parser("reduce-words", help="reduce a vocabulary (SMALR, Figure 3)")
    _add_captions(parser)
    parser.add_argument("--words", type=Path, required=True, help="output of `words` for the language")
    parser.add_argument("--reduction", required=True, help="frequency-5, pca-50, dictionary-5, ...")
    parser.add_argument("--english", type=Path, help="for dictionary-N: output of `words` for English")
    parser.add_argument(
        "--dictionaries", type=Path, nargs="*", default=[], help="for dictionary-N: en-de.txt"
    )
    parser.add_argument("--output", type=Path, required=True, help="HDF5 file")
    parser.set_defaults(run=_reduce_words)
    _add_word_vectors(subparsers)
    _add_own_word_vectors(subparsers)
    _add_align(subparsers)
    _add_pretrain_bert(subparsers)
    _add_sentence_vectors(subparsers)
    add_select(subparsers)


def _add_captions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--sentences", type=Path, required=True, help="sentence table with own captions")
    parser.add_argument("--caption-origin", default="human", help="origin of the data set's own captions")
    parser.add_argument(
        "--translations", type=Path, nargs="*", default=[], help="translations into the language"
    )
    parser.add_argument("--captions", choices=["human", "human+mt", "mt", "augmented"], default="human")


def _add_word_vectors(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("word-vectors", help="train FastText on text")
    parser.add_argument("--sentences", type=Path, required=True, help="sentence table; all splits are read")
    parser.add_argument("--settings", default="{}", help="JSON: dimension, tokens, seed, ...")
    parser.add_argument("--output", type=Path, required=True, help="FastText model, .bin")
    parser.set_defaults(run=_word_vectors)


def _add_own_word_vectors(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "own-word-vectors", help="train FastText on a language's own training captions"
    )
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--sentences", type=Path, required=True, help="sentence table with own captions")
    parser.add_argument("--caption-origin", default="human", help="origin of the data set's own captions")
    parser.add_argument("--settings", default="{}", help="JSON: dimension, tokens, seed, ...")
    parser.add_argument("--output", type=Path, required=True, help="FastText model, .bin")
    parser.set_defaults(run=_own_word_vectors)


def _add_align(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("align", help="align word vectors to the English space (MUSE)")
    parser.add_argument("--words", type=Path, required=True, help="output of `words` for the language")
    parser.add_argument("--english", type=Path, required=True, help="output of `words` for English")
    parser.add_argument("--dictionaries", type=Path, nargs="+", required=True, help="en-de.txt or de-en.txt")
    parser.add_argument("--output", type=Path, required=True, help="HDF5 file")
    parser.set_defaults(run=_align)


def _add_pretrain_bert(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "pretrain-bert", help="pretrain a small multilingual BERT on the training captions"
    )
    parser.add_argument(
        "--sentences", type=Path, nargs="+", required=True, help="one sentence table per language"
    )
    parser.add_argument(
        "--settings", type=json_object, required=True, help="JSON: layers, hidden_size, heads, steps, ..."
    )
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    add_gpus(parser)
    parser.set_defaults(run=_pretrain_bert)


def _add_sentence_vectors(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "sentence-vectors", help="compute frozen BERT vectors of a language's captions"
    )
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--sentences", type=Path, required=True, help="sentence table")
    parser.add_argument("--model", required=True, help="folder of a BERT, or a name on the Hugging Face hub")
    parser.add_argument(
        "--settings", type=json_object, required=True, help="JSON: layer, max_tokens, threads"
    )
    parser.add_argument("--partial", type=Path, required=True, help="folder from which a killed run resumes")
    parser.add_argument("--output", type=Path, required=True, help="HDF5 file")
    add_gpus(parser)
    parser.set_defaults(run=_sentence_vectors)


def _words(arguments: argparse.Namespace) -> None:
    from pipeline.words.make import make_words
    from pipeline.words.settings import read_settings

    settings = read_settings(arguments.settings)
    _check_file(settings, arguments.vectors_file)
    make_words(
        arguments.language,
        arguments.sentences,
        arguments.caption_origin,
        arguments.translations,
        arguments.captions,
        settings,
        arguments.vectors_file,
        arguments.output,
    )


def _spell(arguments: argparse.Namespace) -> None:
    from pipeline.words.spelled import spell

    spell(
        arguments.language,
        arguments.sentences,
        arguments.caption_origin,
        arguments.translations,
        arguments.captions,
        arguments.longest,
        arguments.output,
    )


def _reduce_words(arguments: argparse.Namespace) -> None:
    from pipeline.words.make import training_sentences
    from pipeline.words.reduce import reduce_words

    chosen = training_sentences(
        arguments.language,
        arguments.sentences,
        arguments.caption_origin,
        arguments.translations,
        arguments.captions,
    )
    reduce_words(
        arguments.reduction,
        arguments.words,
        chosen,
        arguments.english,
        arguments.dictionaries,
        arguments.output,
    )


def _word_vectors(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.table import read_sentences
    from pipeline.words.settings import read_settings
    from pipeline.words.vectors import train_model, write_model

    sentences = list(read_sentences(arguments.sentences)["tokens"])
    write_model(train_model(sentences, read_settings(arguments.settings)), arguments.output)


def _own_word_vectors(arguments: argparse.Namespace) -> None:
    from pipeline.words.make import training_sentences
    from pipeline.words.settings import read_settings
    from pipeline.words.vectors import train_model, write_model

    chosen = training_sentences(
        arguments.language, arguments.sentences, arguments.caption_origin, [], "human"
    )
    write_model(train_model(chosen, read_settings(arguments.settings)), arguments.output)


def _align(arguments: argparse.Namespace) -> None:
    from pipeline.words.align import align

    align(arguments.words, arguments.english, arguments.dictionaries, arguments.output)


def _pretrain_bert(arguments: argparse.Namespace) -> None:
    take_gpu(arguments.gpus)
    from pipeline.words.bert import pretrain_bert

    pretrain_bert(arguments.sentences, arguments.settings, arguments.output)


def _sentence_vectors(arguments: argparse.Namespace) -> None:
    take_gpu(arguments.gpus)
    from pipeline.words.sentence_vectors import sentence_vectors

    sentence_vectors(
        arguments.sentences,
        arguments.language,
        arguments.model,
        arguments.settings,
        arguments.partial,
        arguments.output,
    )


def _check_file(settings: "WordSettings", path: Path | None) -> None:
    from pipeline.common.errors import InputError

    trained = settings.vectors == "train"
    if (path is None and not trained) or (path is not None and trained and path.suffix != ".bin"):
        given = "none" if path is None else str(path)
        raise InputError(
            f"--vectors-file: found {given}, with the setting `vectors` {settings.vectors!r}; "
            "give the file with `file` and `multi30k`; with `train`, a model (.bin) or none."
        )
