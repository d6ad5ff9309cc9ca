"""Commands of the tables package."""

import argparse
from pathlib import Path

from pipeline.arguments import json_object
from pipeline.common.files import named_file_lists


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `tabulate`, `publish`, `compare`, `judge-claims`, `count-captions` and other counts."""
    parser = subparsers.add_parser(
        "tabulate", help="make one table of a paper, and compare its numbers with the paper's"
    )
    parser.add_argument("--settings", type=json_object, required=True, help="JSON: scale, table, datasets")
    parser.add_argument("--evaluations", type=Path, nargs="+", required=True, help="outputs of `evaluate`")
    _add_tables(parser)
    parser.set_defaults(run=_tabulate)

    parser = subparsers.add_parser("compare", help="compare two systems on the same images, over all seeds")
    for name, what in (("--first", "one system's"), ("--second", "the other's")):
        parser.add_argument(name, type=Path, nargs="+", required=True, help=f"{what} outputs of `evaluate`")
    parser.add_argument("--metric", default="mR", help="mR (the default), i2s_R@1, ..., s2i_R@10")
    parser.add_argument("--output", type=Path, required=True, help="CSV to write, one language per line")
    parser.set_defaults(run=_compare)

    parser = subparsers.add_parser("judge-claims", help="judge the papers' claims by our numbers")
    parser.add_argument(
        "--settings", type=json_object, required=True, help="JSON: scale, seeds, datasets, ..."
    )
    parser.add_argument("--evaluations", type=Path, nargs="*", default=[], help="outputs of `evaluate`")
    parser.add_argument(
        "--counts",
        type=Path,
        help="output of `count-captions`; without it, claims about counts are not judged",
    )
    parser.add_argument("--claims", type=Path, nargs="+", required=True, help="YAML: config/claims/*.yaml")
    parser.add_argument("--output", type=Path, required=True, help="CSV to write, one claim per line")
    parser.add_argument(
        "--comparison", type=Path, required=True, help="CSV to write, one comparison per line"
    )
    parser.set_defaults(run=_judge_claims)

    parser = subparsers.add_parser("count-captions", help="count images and descriptions (MULE, Table 1)")
    parser.add_argument("--captions", nargs="+", required=True, metavar="DATASET=TABLE", help=_CAPTIONS)
    parser.add_argument("--settings", type=json_object, required=True, help="JSON: scale, datasets")
    parser.add_argument("--counts", type=Path, required=True, help="CSV to write, by split and languages")
    _add_tables(parser)
    parser.set_defaults(run=_count_captions)

    parser = subparsers.add_parser(
        "vocabulary-overlap", help="compute the languages' vocabulary overlap (Lessons, Table 1)"
    )
    parser.add_argument("--translation", nargs="+", required=True, metavar="LANGUAGE=FILE", help=_TOKENS)
    parser.add_argument("--comparable", nargs="+", required=True, metavar="LANGUAGE=FILE", help=_TOKENS)
    parser.add_argument(
        "--minimum-count", type=int, default=4, help="minimum number of occurrences of a word"
    )
    parser.add_argument("--scale", default="", help="value of the column `scale`")
    _add_tables(parser)
    parser.set_defaults(run=_vocabulary_overlap)

    parser = subparsers.add_parser("parameters", help="count the models' parameters at the papers' sizes")
    parser.add_argument("--settings", type=json_object, required=True, help="JSON: scale, model")
    _add_tables(parser)
    parser.set_defaults(run=_parameters)

    _add_smalr(subparsers)
    parser = subparsers.add_parser("tabulate-context", help="combine the outputs of `context` into one table")
    parser.add_argument("--parts", type=Path, nargs="+", required=True, help="outputs of `context`")
    parser.add_argument("--output", type=Path, required=True, help="CSV to write")
    parser.set_defaults(run=_tabulate_context)

    parser = subparsers.add_parser("publish", help="replace earlier tables by newly made ones")
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="finished tables")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="where each is copied to")
    parser.set_defaults(run=_publish)


def _add_smalr(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "smalr-parameters", help="count the parameters of models of ten languages (SMALR)"
    )
    parser.add_argument(
        "--settings", type=json_object, required=True, help="JSON: scale, dataset, model, liwe"
    )
    parser.add_argument("--words", type=Path, nargs="+", required=True, help="one vocabulary per language")
    parser.add_argument(
        "--spelled", type=Path, nargs="+", required=True, help="output of `spell` for each language"
    )
    _add_tables(parser)
    parser.set_defaults(run=_smalr_parameters)

    parser = subparsers.add_parser(
        "scaling", help="compute recall against model size (SMALR, Figures 1b and 3)"
    )
    parser.add_argument(
        "--settings", type=json_object, required=True, help="JSON: figure, points, seeds, ..."
    )
    parser.add_argument("--evaluations", type=Path, nargs="+", required=True, help="outputs of `evaluate`")
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="trained models, of one seed")
    parser.add_argument("--output", type=Path, required=True, help="CSV to write, one point per line")
    parser.set_defaults(run=_scaling)


_CAPTIONS = (
    "a data set's name in the paper, and a caption table of the data set that stands for it; names may repeat"
)
_TOKENS = "tokenised training text, or a sentence table (.csv); a language may have several files"


def _add_tables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--papers", type=Path, required=True, help="CSV of the papers' numbers")
    parser.add_argument("--table", type=Path, required=True, help="CSV to write, as the paper prints it")
    parser.add_argument("--comparison", type=Path, required=True, help="CSV to write, one number per line")


def _tabulate(arguments: argparse.Namespace) -> None:
    from pipeline.tables.tabulate import tabulate

    tabulate(
        arguments.settings,
        arguments.evaluations,
        arguments.papers,
        arguments.table,
        arguments.comparison,
    )


def _parameters(arguments: argparse.Namespace) -> None:
    from pipeline.tables.parameters import compare_parameters

    compare_parameters(arguments.settings, arguments.papers, arguments.table, arguments.comparison)


def _smalr_parameters(arguments: argparse.Namespace) -> None:
    from pipeline.tables.smalr_parameters import compare_ten_languages

    compare_ten_languages(
        arguments.settings,
        arguments.words,
        arguments.spelled,
        arguments.papers,
        arguments.table,
        arguments.comparison,
    )


def _scaling(arguments: argparse.Namespace) -> None:
    from pipeline.tables.scaling import write_points

    write_points(arguments.settings, arguments.evaluations, arguments.models, arguments.output)


def _publish(arguments: argparse.Namespace) -> None:
    from pipeline.tables.publish import publish

    publish(arguments.files, arguments.outputs)


def _count_captions(arguments: argparse.Namespace) -> None:
    from pipeline.tables.data import count_captions

    count_captions(
        arguments.settings,
        named_file_lists(arguments.captions),
        arguments.papers,
        arguments.table,
        arguments.comparison,
        arguments.counts,
    )


def _vocabulary_overlap(arguments: argparse.Namespace) -> None:
    from pipeline.tables.overlap import vocabulary_overlap

    portions = {
        "translation": named_file_lists(arguments.translation),
        "comparable": named_file_lists(arguments.comparable),
    }
    vocabulary_overlap(
        portions,
        arguments.minimum_count,
        arguments.scale,
        arguments.papers,
        arguments.table,
        arguments.comparison,
    )


def _tabulate_context(arguments: argparse.Namespace) -> None:
    from pipeline.tables.context import tabulate_context

    tabulate_context(arguments.parts, arguments.output)


def _compare(arguments: argparse.Namespace) -> None:
    from pipeline.tables.compare import compare

    compare(arguments.first, arguments.second, arguments.metric, arguments.output)


def _judge_claims(arguments: argparse.Namespace) -> None:
    from pipeline.tables.claims import judge_claims

    judge_claims(
        arguments.settings,
        arguments.evaluations,
        arguments.counts,
        arguments.claims,
        arguments.output,
        arguments.comparison,
    )
