"""Commands of the demo data."""

import argparse
from pathlib import Path

_DATASETS = ("multi30k", "mscoco")


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `demo`, `demo-captions` and `demo-dictionary`."""
    demo = subparsers.add_parser("demo", help="draw the scenes of a demo data set")
    captions = subparsers.add_parser("demo-captions", help="write a demo data set's captions in one language")
    for parser in (demo, captions):
        parser.add_argument("--dataset", required=True, choices=_DATASETS, help="the demo data set")
        parser.add_argument("--seed", type=int, default=0, help="equal seeds give equal bytes")
        parser.add_argument("--scenes", type=int, default=900, help="number of images, over all three splits")
    demo.add_argument("--images-out", type=Path, required=True, help="folder for the JPEG images")
    demo.add_argument("--split", type=Path, required=True, help="CSV to write: columns image and split")
    demo.set_defaults(run=_demo)
    captions.add_argument("--language", required=True, help="ISO 639-1 code of a language that has a grammar")
    captions.add_argument("--output", type=Path, required=True, help="caption table to write")
    captions.set_defaults(run=_demo_captions)
    words = subparsers.add_parser(
        "demo-dictionary",
        help="write a bilingual dictionary, English and another language, of the demo's words",
    )
    words.add_argument("--language", required=True, help="ISO 639-1 code of a language that has a grammar")
    words.add_argument("--output", type=Path, required=True, help="en-XX.txt, in MUSE's format")
    words.set_defaults(run=_demo_dictionary)


def _demo(arguments: argparse.Namespace) -> None:
    from pipeline.demo.pictures import draw_pictures

    draw_pictures(arguments.dataset, arguments.seed, arguments.scenes, arguments.images_out, arguments.split)


def _demo_captions(arguments: argparse.Namespace) -> None:
    from pipeline.demo.sentences import write_demo_captions

    write_demo_captions(
        arguments.dataset, arguments.language, arguments.seed, arguments.scenes, arguments.output
    )


def _demo_dictionary(arguments: argparse.Namespace) -> None:
    from pipeline.demo.dictionaries import write_dictionary

    write_dictionary(arguments.output, arguments.language)
