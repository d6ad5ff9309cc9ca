"""Commands of the retrieval package."""

import argparse
from pathlib import Path
from typing import Any

from pipeline.arguments import json_object


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `evaluate` and `evaluate-consistency`."""
    parser = subparsers.add_parser("evaluate", help="compute a trained model's recalls on the test split")
    _add_files(parser)
    parser.set_defaults(run=_evaluate)
    parser = subparsers.add_parser(
        "evaluate-consistency", help="compute the recalls of queries combined with their translations (CLC)"
    )
    _add_files(parser)
    parser.set_defaults(run=_evaluate_consistency)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--settings", type=json_object, required=True, help="JSON")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--words", type=Path, nargs="+", required=True, help="one vocabulary per language")
    parser.add_argument("--sentences", type=Path, nargs="+", required=True, help="own captions, tokenised")
    parser.add_argument(
        "--translated-queries",
        type=Path,
        nargs="*",
        default=[],
        help="captions translated into the model's language, used as queries instead or in addition",
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    parser.add_argument(
        "--ranks", type=Path, required=True, help="CSV to write, gzipped: rank of every query"
    )


def _evaluate(arguments: argparse.Namespace) -> None:
    from pipeline.evaluation.evaluate import evaluate

    evaluate(*_files(arguments))


def _evaluate_consistency(arguments: argparse.Namespace) -> None:
    from pipeline.evaluation.consistency import evaluate_consistency

    evaluate_consistency(*_files(arguments))


def _files(arguments: argparse.Namespace) -> tuple[Any, ...]:
    return (
        arguments.model,
        arguments.features,
        arguments.words,
        arguments.sentences,
        arguments.translated_queries,
        arguments.settings,
        arguments.output,
        arguments.ranks,
    )
