"""Commands of the demo data."""

import argparse
from pathlib import Path

_DATASETS = ("multi30k", "mscoco")
_DICTIONARIES = ("de", "fr", "cs", "zh", "ja")


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `demo` and `demo-dictionaries`."""
    demo = subparsers.add_parser("demo", help="draw a demo data set and write its captions")
    demo.add_argument(
        "--dataset", required=True, choices=_DATASETS, help="whose languages and splits it takes"
    )
    demo.add_argument("--seed", type=int, default=0, help="the same seed gives the same bytes")
    demo.add_argument("--scenes", type=int, default=900, help="number of images in all three splits")
    demo.add_argument("--images-out", type=Path, required=True, help="folder for the JPEG images")
    demo.add_argument("--captions", type=Path, required=True, help="caption table to write")
    demo.set_defaults(run=_demo)
    words = subparsers.add_parser(
        "demo-dictionaries", help="write bilingual dictionaries of the demo's words"
    )
    words.add_argument("--output", type=Path, required=True, help="folder for en-XX.txt, in MUSE's format")
    words.set_defaults(run=_demo_dictionaries)


def _demo(arguments: argparse.Namespace) -> None:
    from pipeline.sources.demo.datasets import make_dataset

    make_dataset(
        arguments.dataset, arguments.seed, arguments.scenes, arguments.images_out, arguments.captions
    )


def _demo_dictionaries(arguments: argparse.Namespace) -> None:
    from pipeline.sources.demo.dictionaries import write_dictionaries

    write_dictionaries(arguments.output, list(_DICTIONARIES))
