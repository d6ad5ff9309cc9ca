"""Command line of the translation: translate, translations, translation-quality and its table."""

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.arguments import json_object
from pipeline.common.gpus import add_gpus, take_gpu
from pipeline.translation.machine import MACHINES

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.translation.translate import Translator

_PROVIDERS = ("dictionary", "files", *MACHINES)
# Where answers are kept and how services are asked may be said to all; only machines use it.
_NEEDED = {
    "dictionary": ("sentences", "dictionaries"),
    "files": ("captions", "origin"),
    **dict.fromkeys(MACHINES, ("sentences", "cache")),
}
_ALLOWED = {
    "dictionary": ("source_origin", "splits", "target_sentences", "cache", "limits"),
    "files": ("cache", "limits", "images"),
    **dict.fromkeys(MACHINES, ("source_origin", "splits", "settings", "limits")),
}


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this package."""
    parser = subparsers.add_parser("translate", help="translate the captions of one language into another")
    _add_pair(parser)
    parser.add_argument("--provider", choices=_PROVIDERS, required=True)
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    parser.add_argument("--report", type=Path, help="JSON to write: what was left out, and why")
    parser.add_argument("--sentences", type=Path, help="sentence table of the source language")
    parser.add_argument("--source-origin", help="origin of the captions to translate (default: human)")
    parser.add_argument("--splits", nargs="+", help="train, val, test (default: all)")
    _add_provider_options(parser)
    group = parser.add_argument_group("provider files: translations published with the data")
    group.add_argument("--captions", type=Path, help="caption table that contains the translations")
    group.add_argument("--origin", help="who made the translations: google, baidu, human")
    group.add_argument("--images", type=Path, help="output of `split`: keep only its images, with its split")
    parser.set_defaults(run=_translate)
    _add_exchange(subparsers)
    _add_quality(subparsers)


def _add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", required=True, help="ISO 639-1 code")
    parser.add_argument("--target", required=True, help="ISO 639-1 code")


def _add_provider_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("provider dictionary: word by word")
    group.add_argument("--dictionaries", type=Path, nargs="+", help="en-de.txt or de-en.txt, MUSE's format")
    group.add_argument(
        "--target-sentences",
        type=Path,
        help="sentence table of the target language: prefer words frequent in its training captions",
    )
    group = parser.add_argument_group(f"providers {', '.join(MACHINES)}")
    group.add_argument("--cache", type=Path, help="SQLite file of all translations; created if missing")
    group.add_argument(
        "--settings", type=json_object, help="JSON: settings of the provider, such as model or url"
    )
    add_gpus(group)
    group.add_argument(
        "--limits", type=json_object, help="JSON: limits on requests to a service (docs/translation.md)"
    )


def _add_exchange(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("translations", help="find, remove, export and import cached translations")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    parser = actions.add_parser("find", help="list cached translations, and optionally remove them")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--text", required=True, help="text that the caption or its translation contains")
    parser.add_argument(
        "--remove", action="store_true", help="remove what is found, so that it is requested again"
    )
    parser.set_defaults(run=_find)
    parser = actions.add_parser("export", help="write all cached translations to one compressed file")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="such as translations.csv.gz")
    parser.set_defaults(run=_export)
    parser = actions.add_parser("import", help="import the translations of such a file")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="created if missing")
    parser.add_argument(
        "--on-conflict",
        choices=("stop", "keep", "replace"),
        default="stop",
        help="if the cache has another translation of the same caption by the same model (default: stop)",
    )
    parser.set_defaults(run=_import)


def _add_quality(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "translation-quality", help="BLEU and chrF of one language pair against human translations"
    )
    _add_pair(parser)
    parser.add_argument(
        "--provider", choices=_PROVIDERS, required=True, help="`files`: only published translations"
    )
    _add_provider_options(parser)
    parser.add_argument(
        "--multi30k", type=Path, help="folder with the files of Multi30K's task 1, laid out as HOST/PATH"
    )
    parser.add_argument(
        "--captions",
        type=Path,
        action="append",
        help="caption tables of both languages, each with its --captions",
    )
    parser.add_argument("--scale", required=True)
    parser.add_argument("--dataset", required=True, help="name of the data set in the table")
    parser.add_argument("--output", type=Path, required=True, help="CSV")
    parser.set_defaults(run=_quality)
    parser = subparsers.add_parser(
        "translation-quality-table", help="combine the outputs of `translation-quality` into one table"
    )
    parser.add_argument("--parts", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True, help="CSV")
    parser.set_defaults(run=_quality_table)


def _translate(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.captions import SPLITS
    from pipeline.datasets.table import read_captions, read_sentences, write_sentences
    from pipeline.translation.translate import published, translate, write_report

    _check(arguments)
    if arguments.provider == "files":
        captions = read_captions(arguments.captions)
        found = published(captions, arguments.source, arguments.target, arguments.origin)
        version = ""
        if arguments.images is not None:
            from pipeline.datasets.split import read_split
            from pipeline.translation.borrowed import borrowed

            found = borrowed(found, read_split(arguments.images))
    else:
        translator = _translator(arguments)
        version = _version(translator)
        found = translate(
            read_sentences(arguments.sentences),
            translator,
            arguments.provider,
            arguments.source_origin or "human",
            arguments.splits or SPLITS,
        )
    if arguments.report is not None:
        pair = {"source": arguments.source, "target": arguments.target}
        write_report(arguments.report, found, provider=arguments.provider, version=version, **pair)
    write_sentences(found.table, arguments.output)


def _translator(arguments: argparse.Namespace) -> "Translator":
    if arguments.provider == "dictionary":
        from pipeline.translation.dictionary import DictionaryTranslator, training_words

        counts = training_words(arguments.target_sentences, arguments.target)
        return DictionaryTranslator(arguments.source, arguments.target, arguments.dictionaries, counts)
    from pipeline.translation.machine import machine_translator

    if arguments.provider == "marian":
        take_gpu(arguments.gpus)
    return machine_translator(
        arguments.provider,
        arguments.source,
        arguments.target,
        arguments.settings or {},
        arguments.cache,
        arguments.limits or {},
    )


def _version(translator: "Translator") -> str:
    from pipeline.translation.cached import CachedTranslator

    return translator.engine.model.version if isinstance(translator, CachedTranslator) else ""


def _check(arguments: argparse.Namespace, apart: Collection[str] = ()) -> None:
    """Raise for options that a provider lacks or that belong to another; those `apart` are not its matter."""
    from pipeline.common.errors import raise_together

    provider = arguments.provider
    needed, allowed = _NEEDED[provider], _NEEDED[provider] + _ALLOWED[provider]
    options = {name for names in [*_NEEDED.values(), *_ALLOWED.values()] for name in names} - set(apart)
    given = {name for name in options if getattr(arguments, name) is not None}
    mistakes = [f"{_flag(name)} is missing" for name in needed if name in options - given]
    mistakes += [f"{_flag(name)} belongs to another provider" for name in sorted(given - set(allowed))]
    if arguments.source == arguments.target:
        mistakes.append(f"--source and --target are both {arguments.source!r}")
    raise_together(mistakes, f"--provider {provider}: cannot start:")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _find(arguments: argparse.Namespace) -> None:
    from pipeline.common.files import require_file
    from pipeline.translation.cache import Cache

    require_file(arguments.cache, "the cache of translations", "Give another file (translation.cache).")
    cache = Cache(arguments.cache)
    rows = cache.find(arguments.text)
    for provider, version, source, target, _, text, answer, *_ in rows:
        print(f"{' '.join([provider, version]).strip()} {source}-{target}: {text!r} -> {answer!r}")
    if arguments.remove:
        cache.remove(rows)
    print(f"{len(rows)} answers {'removed' if arguments.remove else 'found'}")


def _export(arguments: argparse.Namespace) -> None:
    from pipeline.translation.exchange import export

    export(arguments.cache, arguments.output)


def _import(arguments: argparse.Namespace) -> None:
    from pipeline.translation.exchange import import_

    import_(arguments.input, arguments.cache, arguments.on_conflict)


def _quality(arguments: argparse.Namespace) -> None:
    from pipeline.translation.quality import measured, of_pair, write

    _check(arguments, apart=("sentences", "captions", "origin", "source_origin", "splits", "images"))
    parallel = _parallel(arguments)
    translator, version = None, ""
    if arguments.provider != "files" and not of_pair(parallel, arguments.source, arguments.target).empty:
        translator = _translator(arguments)
        version = _version(translator)
    rows = measured(parallel, arguments.source, arguments.target, translator, arguments.provider, version)
    write(rows.assign(scale=arguments.scale, dataset=arguments.dataset, split="test"), arguments.output)


def _parallel(arguments: argparse.Namespace) -> "pd.DataFrame":
    import pandas as pd

    from pipeline.common.errors import InputError
    from pipeline.datasets.table import read_captions
    from pipeline.translation.parallel import NOTHING, multi30k_translations, translations_in

    if arguments.multi30k is not None and arguments.captions is not None:
        raise InputError("Give --multi30k or --captions, not both: where the translations by people stand.")
    if arguments.multi30k is not None:
        return multi30k_translations(arguments.multi30k)
    if arguments.captions is None:
        return NOTHING
    return translations_in(pd.concat(map(read_captions, arguments.captions), ignore_index=True))


def _quality_table(arguments: argparse.Namespace) -> None:
    from pipeline.translation.quality import gather

    gather(arguments.parts, arguments.output)
