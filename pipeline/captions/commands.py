"""Command line of the captions: captions, tokenize."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import raise_together

if TYPE_CHECKING:
    import pandas as pd

# For each data set the options that it needs, and those that it also takes.
_NEEDS = {
    "multi30k": ["sources"],
    "flickr8kcn": ["sources"],
    "mscoco": ["sources", "coco_cn", "split_output"],
    "own": ["table"],
}
_TAKES = {
    "multi30k": ["split"],
    "flickr8kcn": ["split"],
    "mscoco": ["drawn", "seed", "test_images", "val_images"],
    "own": ["seed"],
}


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this room."""
    parser = subparsers.add_parser("captions", help="read a data set's text as one caption table")
    add = parser.add_argument
    add("--dataset", choices=list(_NEEDS), required=True, help="own: a table of your captions")
    add("--sources", type=Path, help="folder laid out as HOST/PATH (every data set but own)")
    add(
        "--split",
        choices=["flickr8k", "multi30k"],
        help="official lists to follow; flickr8k keeps only its images (default); "
        "multi30k is for the data set multi30k",
    )
    add("--coco-cn", type=Path, help="mscoco: COCO-CN, its folder or archive")
    add("--drawn", type=int, help="mscoco: images to draw for testing, and for validation (default 1000)")
    add("--seed", type=int, help="mscoco, own: seed of the draw (default 0)")
    add("--test-images", type=Path, help="mscoco: list of the test images, instead of a draw")
    add("--val-images", type=Path, help="mscoco: list of the validation images, instead of a draw")
    add("--split-output", type=Path, help="mscoco: CSV to write, the test and validation images")
    add("--table", type=Path, help="own: CSV with columns image, language, caption")
    add(
        "--image-list",
        type=Path,
        help="CSV file with a column `image`: keep only these, before a split is drawn",
    )
    add("--output", type=Path, required=True)
    parser.set_defaults(run=_captions)

    parser = subparsers.add_parser("tokenize", help="tokenise the captions of one language")
    parser.add_argument("--captions", type=Path, required=True, help="caption table")
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    parser.set_defaults(run=_tokenize)


def _captions(arguments: argparse.Namespace) -> None:
    from pipeline.captions.table import write_captions

    raise_together(_option_mistakes(arguments), f"captions --dataset {arguments.dataset}:")
    read = {"multi30k": _multi30k, "flickr8kcn": _flickr8kcn, "mscoco": _mscoco, "own": _own}
    write_captions(read[arguments.dataset](arguments), arguments.output)


def _option_mistakes(arguments: argparse.Namespace) -> list[str]:
    needed, taken = _NEEDS[arguments.dataset], _TAKES[arguments.dataset]
    given = {name for name, value in vars(arguments).items() if value is not None}
    known = {name for names in (*_NEEDS.values(), *_TAKES.values()) for name in names}
    mistakes = [f"{_option(name)} is needed" for name in needed if name not in given]
    mistakes += [
        f"{_option(name)} is not for this data set; leave it out"
        for name in sorted((known & given) - {*needed, *taken})
    ]
    if arguments.dataset == "flickr8kcn" and arguments.split == "multi30k":
        mistakes.append("--split multi30k: this data set has only the split flickr8k; leave it out")
    if (arguments.test_images is None) != (arguments.val_images is None):
        mistakes.append("--test-images and --val-images go together; give both or neither")
    if arguments.drawn is not None and arguments.test_images is not None:
        mistakes.append("--drawn: with lists of images nothing is drawn; leave it out")
    return mistakes


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _multi30k(arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.multi30k import read_multi30k

    return _restricted(read_multi30k(arguments.sources, arguments.split or "flickr8k"), arguments)


def _flickr8kcn(arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.flickr8k import read_flickr8kcn

    return _restricted(read_flickr8kcn(arguments.sources), arguments)


def _mscoco(arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.mscoco import captioned_in_all, read_mscoco
    from pipeline.captions.split import drawn_split, given_split, with_split, write_split

    captions = _restricted(read_mscoco(arguments.sources, arguments.coco_cn), arguments)
    images = captioned_in_all(captions)
    if arguments.test_images is None:
        each = 1000 if arguments.drawn is None else arguments.drawn
        split = drawn_split(images, each, each, arguments.seed or 0)
    else:
        split = given_split({"test": arguments.test_images, "val": arguments.val_images}, images)
    write_split(split, arguments.split_output)
    return with_split(captions, split)


def _own(arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.own import read_own, tenths
    from pipeline.captions.split import with_split

    captions, has_split = read_own(arguments.table)
    captions = _restricted(captions, arguments)
    return (
        captions if has_split else with_split(captions, tenths(set(captions["image"]), arguments.seed or 0))
    )


def _restricted(captions: "pd.DataFrame", arguments: argparse.Namespace) -> "pd.DataFrame":
    from pipeline.captions.sources import restricted

    return captions if arguments.image_list is None else restricted(captions, arguments.image_list)


def _tokenize(arguments: argparse.Namespace) -> None:
    from pipeline.captions.table import read_captions, write_sentences
    from pipeline.captions.tokenize import tokenize
    from pipeline.errors import InputError

    captions = read_captions(arguments.captions)
    try:
        sentences = tokenize(captions, arguments.language)
    except InputError as error:
        raise InputError(f"{arguments.captions}: {error}") from None
    write_sentences(sentences, arguments.output)
