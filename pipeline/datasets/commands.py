"""Command line of the captions: split, captions, tokenize, augment."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.common.errors import raise_together
from pipeline.datasets.part_commands import add_part_commands

if TYPE_CHECKING:
    from pipeline.datasets.source import Inputs

# For each source the options that a stage needs, and those that it also takes.
_Options = dict[str, tuple[str, ...]]
_SPLIT_NEEDS: _Options = {
    "multi30k": ("sources",),
    "flickr8kcn": ("sources",),
    "mscoco": ("sources", "coco_cn"),
    "own": (),
}
_SPLIT_TAKES: _Options = {
    "multi30k": ("lists",),
    "flickr8kcn": (),
    "mscoco": ("sample_size", "seed", "test_images", "val_images"),
    "own": ("table", "seed", "predefined"),
}
_CAPTIONS_NEED: _Options = {**_SPLIT_NEEDS, "mscoco": ("sources",), "own": ("table",)}
_CAPTIONS_TAKE: _Options = {"multi30k": (), "flickr8kcn": (), "mscoco": ("coco_cn",), "own": ()}


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this package."""
    split = subparsers.add_parser("split", help="assign the images of a data set to train, val and test")
    add = split.add_argument
    add(
        "--lists",
        choices=["flickr8k", "multi30k"],
        help="multi30k: official lists to follow; flickr8k keeps only its images (default)",
    )
    add(
        "--sample-size",
        type=int,
        help="mscoco: number of test images and of validation images (default 1000)",
    )
    add("--seed", type=int, help="mscoco, own: seed of the sampled split (default 0)")
    add("--test-images", type=Path, help="mscoco: list of the test images, instead of sampling")
    add("--val-images", type=Path, help="mscoco: list of the validation images, instead of sampling")
    add("--predefined", type=Path, help="own: CSV with columns image, split, instead of a table")
    add(
        "--image-list",
        type=Path,
        help="CSV file with a column `image`: keep only these images, before a split is sampled",
    )
    split.set_defaults(run=_split)

    captions = subparsers.add_parser("captions", help="read a data set's text in one language")
    captions.add_argument("--language", required=True, help="ISO 639-1 code")
    captions.add_argument("--split", type=Path, required=True, help="output of `split`")
    captions.set_defaults(run=_captions)

    for parser in (split, captions):
        add = parser.add_argument
        add("--dataset", choices=list(_SPLIT_NEEDS), required=True, help="own: your own table of captions")
        add("--sources", type=Path, help="folder laid out as HOST/PATH (every data set but own)")
        add(
            "--coco-cn",
            type=Path,
            help="mscoco: folder or archive of COCO-CN (for `captions`: only if the language is Chinese)",
        )
        add("--table", type=Path, help="own: CSV with columns image, language, caption")
    split.add_argument("--output", type=Path, required=True, help="CSV to write: columns image and split")
    captions.add_argument("--output", type=Path, required=True, help="caption table")

    parser = subparsers.add_parser("tokenize", help="tokenise the captions of one language")
    parser.add_argument("--captions", type=Path, required=True, help="caption table")
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    parser.set_defaults(run=_tokenize)

    parser = subparsers.add_parser(
        "augment", help="select the translations that give each image five sentences"
    )
    parser.add_argument("--sentences", type=Path, required=True, help="sentence table of the language")
    parser.add_argument("--caption-origin", default="human", help="origin of the data set's own captions")
    parser.add_argument(
        "--translations", type=Path, required=True, help="translations from English into the language"
    )
    parser.add_argument(
        "--output", type=Path, required=True, help="sentence table to write, of the added translations"
    )
    parser.set_defaults(run=_augment)

    parser = subparsers.add_parser("text", help="collect Multi30K's captions of images that are not held out")
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--sources", type=Path, required=True, help="folder laid out as HOST/PATH")
    parser.add_argument("--splits", type=Path, nargs="+", required=True, help="outputs of `split`")
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    parser.set_defaults(run=_text)
    add_part_commands(subparsers)


def _split(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.sources import source_named
    from pipeline.datasets.split import write_split

    mistakes = _option_mistakes(arguments, _SPLIT_NEEDS, _SPLIT_TAKES)
    if (arguments.test_images is None) != (arguments.val_images is None):
        mistakes.append("--test-images and --val-images go together; give both or neither")
    if arguments.sample_size is not None and arguments.test_images is not None:
        mistakes.append("--sample-size: nothing is sampled when lists of images are given; leave it out")
    if arguments.dataset == "own" and (arguments.table is None) == (arguments.predefined is None):
        mistakes.append("exactly one of --table and --predefined is needed")
    raise_together(mistakes, f"split --dataset {arguments.dataset}:")
    read_split = source_named(arguments.dataset).read_split
    assert read_split is not None
    write_split(read_split(_data(arguments), _inputs(arguments)), arguments.output)


def _data(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keys of the data set in the configuration, from the options that stand for them."""
    given = vars(arguments).get
    data = {
        "split": given("predefined") or given("lists"),
        "sample_size": 1000 if given("sample_size") is None else given("sample_size"),
        "split_seed": given("seed") or 0,
        "test_images": given("test_images"),
        "val_images": given("val_images"),
        "captions": given("table") and str(given("table")),
    }
    if arguments.dataset == "multi30k":
        data["split"] = data["split"] or "flickr8k"
    return {key: value for key, value in data.items() if value is not None}


def _inputs(arguments: argparse.Namespace) -> "Inputs":
    from pipeline.datasets.source import Inputs

    return Inputs(arguments.sources, arguments.coco_cn, vars(arguments).get("image_list"))


def _option_mistakes(arguments: argparse.Namespace, needs: _Options, takes: _Options) -> list[str]:
    needed, taken = needs[arguments.dataset], takes[arguments.dataset]
    given = {name for name, value in vars(arguments).items() if value is not None}
    known = {name for names in (*needs.values(), *takes.values()) for name in names}
    mistakes = [f"{_option(name)} is needed" for name in needed if name not in given]
    return mistakes + [
        f"{_option(name)} is not for this data set; leave it out"
        for name in sorted((known & given) - {*needed, *taken})
    ]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _captions(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.sources import source_named
    from pipeline.datasets.split import read_split
    from pipeline.datasets.table import caption_table, write_captions

    mistakes = _option_mistakes(arguments, _CAPTIONS_NEED, _CAPTIONS_TAKE)
    if arguments.dataset == "mscoco" and arguments.language == "zh" and arguments.coco_cn is None:
        mistakes.append("--coco-cn is needed for Chinese")
    raise_together(mistakes, f"captions --dataset {arguments.dataset}:")
    read_captions = source_named(arguments.dataset).read_captions
    assert read_captions is not None
    data, inputs, split = _data(arguments), _inputs(arguments), read_split(arguments.split)
    write_captions(caption_table(read_captions(data, inputs, arguments.language, split)), arguments.output)


def _tokenize(arguments: argparse.Namespace) -> None:
    from pipeline.common.errors import InputError
    from pipeline.datasets.table import read_captions, write_sentences
    from pipeline.datasets.tokenize import tokenize

    captions = read_captions(arguments.captions)
    try:
        sentences = tokenize(captions, arguments.language)
    except InputError as error:
        raise InputError(f"{arguments.captions}: {error}") from None
    write_sentences(sentences, arguments.output)


def _augment(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.augment import write_added

    write_added(arguments.sentences, arguments.caption_origin, arguments.translations, arguments.output)


def _text(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.table import write_sentences
    from pipeline.datasets.text import published_text

    write_sentences(published_text(arguments.sources, arguments.language, arguments.splits), arguments.output)
