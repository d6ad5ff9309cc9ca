"""Command line of the parts of a data set, and of the samples drawn from them."""

import argparse
from pathlib import Path


def add_part_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `caption-part`, `draw-captions` and `draw-halves`."""
    parser = subparsers.add_parser(
        "caption-part", help="extract the translation or comparable part in one language"
    )
    add = parser.add_argument
    add("--part", choices=["translation", "comparable"], required=True)
    add("--language", required=True, help="ISO 639-1 code")
    add("--sources", type=Path, help="Multi30K: folder laid out as HOST/PATH")
    add("--split", type=Path, help="Multi30K: output of `split`")
    add("--demo", type=_demo, help="demo: DATASET/SEED/SCENES, such as multi30k/0/900")
    add("--sentences", type=Path, help="any other data set: its sentence table")
    add("--origin", default="human", help="with --sentences: origin of the language's own captions")
    add("--output", type=Path, required=True, help="sentence table")
    parser.set_defaults(run=_caption_part)

    parser = subparsers.add_parser("draw-captions", help="sample some captions of each image")
    parser.add_argument("--part", type=Path, required=True, help="sentence table of one language")
    parser.add_argument("--captions-per-image", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    parser.set_defaults(run=_draw_captions)

    parser = subparsers.add_parser("draw-halves", help="sample halves of the training images")
    parser.add_argument("--split", type=Path, required=True, help="output of `split`")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--language", help="halves for this language only, as in the public code")
    parser.add_argument("--output", type=Path, required=True, help="CSV: columns image and half")
    parser.set_defaults(run=_draw_halves)


def _caption_part(arguments: argparse.Namespace) -> None:
    from pipeline.common.errors import InputError
    from pipeline.datasets.lessons_parts import caption_part, source_part
    from pipeline.datasets.source import Inputs
    from pipeline.datasets.sources import source_named
    from pipeline.datasets.split import read_split
    from pipeline.datasets.table import read_sentences, write_sentences

    ways = [arguments.sources and arguments.split, arguments.demo, arguments.sentences]
    if sum(way is not None for way in ways) != 1:
        raise InputError("caption-part: give --sources and --split, or --demo, or --sentences; one of them.")
    wanted = arguments.part, arguments.language
    if arguments.sentences:
        table = caption_part(read_sentences(arguments.sentences), *wanted, arguments.origin)
    else:
        source = source_named("demo" if arguments.demo else "multi30k")
        data = dict(zip(("dataset", "seed", "scenes"), arguments.demo or (), strict=False))
        split = read_split(arguments.split) if arguments.split else {}
        table = source_part(source, data, Inputs(arguments.sources), *wanted, split)
    write_sentences(table, arguments.output)


def _draw_captions(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.draws import drawn_captions
    from pipeline.datasets.table import read_sentences, write_sentences

    part = read_sentences(arguments.part)
    write_sentences(drawn_captions(part, arguments.captions_per_image, arguments.seed), arguments.output)


def _draw_halves(arguments: argparse.Namespace) -> None:
    import pandas as pd

    from pipeline.common.files import atomic_write
    from pipeline.datasets.draws import halves
    from pipeline.datasets.split import read_split

    drawn = halves(read_split(arguments.split), arguments.seed, arguments.language)
    with atomic_write(arguments.output) as temporary:
        table = pd.DataFrame(sorted(drawn.items()), columns=["image", "half"])
        table.to_csv(temporary, index=False, lineterminator="\n")


def _demo(text: str) -> tuple[str, int, int]:
    dataset, *numbers = text.split("/")
    if len(numbers) != 2 or not all(map(str.isdecimal, numbers)):
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected DATASET/SEED/SCENES, such as multi30k/0/900"
        )
    return dataset, int(numbers[0]), int(numbers[1])
