"""Command line of the words: words."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.words.settings import WordSettings


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this room."""
    parser = subparsers.add_parser("words", help="vocabulary and word vectors of one language")
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--sentences", type=Path, required=True, help="sentence table with own captions")
    parser.add_argument("--own-origin", default="human", help="origin of the data set's own captions")
    parser.add_argument("--translations", type=Path, nargs="*", default=[], help="translations into it")
    parser.add_argument("--captions", choices=["human", "human+mt", "mt"], default="human")
    parser.add_argument(
        "--settings", default="{}", help="JSON: vectors, dimension, tokens, seed, casing, ..."
    )
    parser.add_argument("--vectors-file", type=Path, help="FastText .vec or .vec.gz, for vectors: file")
    parser.add_argument("--output", type=Path, required=True, help="HDF5 file")
    parser.set_defaults(run=_words)


def _words(arguments: argparse.Namespace) -> None:
    from pipeline.words.make import make_words
    from pipeline.words.settings import read_settings

    settings = read_settings(arguments.settings)
    _check_file(settings, arguments.vectors_file)
    make_words(
        arguments.language,
        arguments.sentences,
        arguments.own_origin,
        arguments.translations,
        arguments.captions,
        settings,
        arguments.vectors_file,
        arguments.output,
    )


def _check_file(settings: "WordSettings", path: Path | None) -> None:
    from pipeline.errors import InputError

    if (settings.vectors == "file") != (path is not None):
        given = "none" if path is None else str(path)
        raise InputError(
            f"--vectors-file: found {given}, with the setting `vectors` {settings.vectors!r}; "
            "give the file with `file`, and leave it out with `train`."
        )
