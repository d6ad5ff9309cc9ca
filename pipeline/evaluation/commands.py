"""Commands of the retrieval package."""

import argparse
import os
from pathlib import Path
from typing import Any

from pipeline.arguments import json_object
from pipeline.common.gpus import add_gpus, take_gpu


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `evaluate`, `evaluate-consistency` and the commands of frozen models."""
    parser = subparsers.add_parser("evaluate", help="compute a trained model's recalls on the test split")
    _add_files(parser)
    parser.set_defaults(run=_evaluate)
    parser = subparsers.add_parser(
        "evaluate-consistency", help="compute the recalls of queries combined with their translations (CLC)"
    )
    _add_files(parser)
    parser.set_defaults(run=_evaluate_consistency)
    _add_context(subparsers)


def _add_context(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `check-context` and `context`."""
    check = subparsers.add_parser("check-context", help="check that frozen multilingual CLIPs can be used")
    check.add_argument("--models", nargs="+", required=True, help="folders, or names on the hub")
    check.set_defaults(run=_check_context)

    context = subparsers.add_parser("context", help="compute the recalls of a frozen multilingual CLIP")
    context.add_argument("--model", required=True, help="a folder, or a name on the Hugging Face hub")
    context.add_argument(
        "--settings", type=json_object, required=True, help="JSON: scale, dataset, languages, ..."
    )
    context.add_argument("--sentences", type=Path, nargs="+", required=True, help="own captions, tokenised")
    context.add_argument("--images", type=Path, required=True, help="output of `find-images`")
    context.add_argument("--partial", type=Path, required=True, help="folder from which a killed run resumes")
    add_gpus(context)
    context.add_argument("--output", type=Path, required=True, help="CSV to write")
    context.set_defaults(run=_context)


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


def _check_context(arguments: argparse.Namespace) -> None:
    from pipeline.evaluation.clip import check_models

    check_models(arguments.models)


def _context(arguments: argparse.Namespace) -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    take_gpu(arguments.gpus)
    import torch

    from pipeline.evaluation.clip import evaluate_clip

    torch.set_num_threads(arguments.settings["threads"])
    evaluate_clip(
        arguments.model,
        arguments.sentences,
        arguments.images,
        arguments.settings,
        arguments.partial,
        arguments.output,
    )
