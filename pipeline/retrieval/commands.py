"""Commands of the retrieval package."""

import argparse
import json
from pathlib import Path


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `evaluate`."""
    parser = subparsers.add_parser("evaluate", help="recalls of a trained model on the test split")
    parser.add_argument("--settings", type=json.loads, required=True, help="JSON")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--words", type=Path, nargs="+", required=True, help="one vocabulary a language")
    parser.add_argument("--sentences", type=Path, nargs="+", required=True, help="own captions, tokenised")
    parser.add_argument(
        "--translated-queries",
        type=Path,
        nargs="*",
        default=[],
        help="captions translated into the model's language, to be the queries instead",
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    parser.add_argument(
        "--ranks", type=Path, required=True, help="CSV to write, gzipped: rank of every query"
    )
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> None:
    from pipeline.retrieval.evaluate import evaluate

    evaluate(
        arguments.model,
        arguments.features,
        arguments.words,
        arguments.sentences,
        arguments.translated_queries,
        arguments.settings,
        arguments.output,
        arguments.ranks,
    )
