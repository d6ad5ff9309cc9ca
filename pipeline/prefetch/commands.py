"""The command of the prefetch package."""

import argparse
from pathlib import Path

from pipeline.arguments import json_object


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `prefetch-models`."""
    parser = subparsers.add_parser(
        "prefetch-models", help="download weights to the Hugging Face cache, for nodes without a network"
    )
    parser.add_argument("--models", type=json_object, required=True, help="JSON: backbones, bert, ...")
    parser.add_argument("--output", type=Path, required=True, help="list to write, of the downloaded models")
    parser.set_defaults(run=_prefetch)


def _prefetch(arguments: argparse.Namespace) -> None:
    from pipeline.prefetch.models import prefetch_models

    prefetch_models(arguments.models, arguments.output)
