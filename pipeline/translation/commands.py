"""Command line of the translation: translate."""

import argparse
import logging
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger("pipeline")

_NEEDED = {"dictionary": ("sentences", "dictionaries"), "files": ("captions", "origin")}
_ALLOWED = {"dictionary": ("target_sentences", "source_origin"), "files": ()}


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this room."""
    parser = subparsers.add_parser("translate", help="translate the captions of one language into another")
    parser.add_argument("--source", required=True, help="ISO 639-1 code")
    parser.add_argument("--target", required=True, help="ISO 639-1 code")
    parser.add_argument("--provider", choices=sorted(_NEEDED), required=True)
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    group = parser.add_argument_group("provider dictionary: word by word")
    group.add_argument("--sentences", type=Path, help="sentence table of the source language")
    group.add_argument("--dictionaries", type=Path, nargs="+", help="en-de.txt or de-en.txt, MUSE's format")
    group.add_argument("--target-sentences", type=Path, help="prefer words frequent in its training captions")
    group.add_argument("--source-origin", help="origin of the captions to translate (default: human)")
    group = parser.add_argument_group("provider files: translations published with the data")
    group.add_argument("--captions", type=Path, help="caption table that holds the translations")
    group.add_argument("--origin", help="who translated: google, baidu, human")
    parser.set_defaults(run=_translate)


def _translate(arguments: argparse.Namespace) -> None:
    from pipeline.captions.table import write_sentences

    _check(arguments)
    table = _by_dictionary(arguments) if arguments.provider == "dictionary" else _from_files(arguments)
    write_sentences(table, arguments.output)


def _check(arguments: argparse.Namespace) -> None:
    from pipeline.errors import raise_together

    provider = arguments.provider
    needed, allowed = _NEEDED[provider], _NEEDED[provider] + _ALLOWED[provider]
    options = {name for names in [*_NEEDED.values(), *_ALLOWED.values()] for name in names}
    given = {name for name in options if getattr(arguments, name) is not None}
    mistakes = [f"{_flag(name)} is missing" for name in needed if name not in given]
    mistakes += [f"{_flag(name)} belongs to another provider" for name in sorted(given - set(allowed))]
    if arguments.source == arguments.target:
        mistakes.append(f"--source and --target are both {arguments.source!r}")
    raise_together(mistakes, f"--provider {provider}: it cannot start:")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _by_dictionary(arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.table import read_sentences
    from pipeline.translation.dictionary import DictionaryTranslator
    from pipeline.translation.translate import translate

    counts = _training_words(arguments.target_sentences, arguments.target)
    translator = DictionaryTranslator(arguments.source, arguments.target, arguments.dictionaries, counts)
    sentences = read_sentences(arguments.sentences)
    table = translate(sentences, translator, arguments.provider, arguments.source_origin or "human")
    share = 100 * translator.translated / max(translator.words, 1)
    log.info("%.1f%% of %d words stand in the dictionaries", share, translator.words)
    return table


def _training_words(path: Path | None, language: str) -> Counter[str]:
    if path is None:
        return Counter()
    from pipeline.captions.table import read_sentences

    table = read_sentences(path)
    training = table[(table["split"] == "train") & (table["language"] == language)]
    return Counter(word for tokens in training["tokens"] for word in tokens.split())


def _from_files(arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.table import read_captions
    from pipeline.translation.translate import published

    return published(read_captions(arguments.captions), arguments.source, arguments.target, arguments.origin)
