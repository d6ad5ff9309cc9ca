"""Command line of the captions: captions, tokenize."""

import argparse
from pathlib import Path


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this room."""
    parser = subparsers.add_parser("captions", help="read a data set's published text as one caption table")
    parser.add_argument("--dataset", choices=["multi30k", "flickr8kcn"], required=True)
    parser.add_argument("--sources", type=Path, required=True, help="folder laid out as HOST/PATH")
    parser.add_argument(
        "--split",
        choices=["flickr8k", "multi30k"],
        default="flickr8k",
        help="official lists to follow; flickr8k keeps only its images (default); "
        "multi30k is for the data set multi30k",
    )
    parser.add_argument("--image-list", type=Path, help="CSV file with a column `image`: keep only these")
    parser.add_argument("--output", type=Path, required=True)
    parser.set_defaults(run=_captions)

    parser = subparsers.add_parser("tokenize", help="tokenise the captions of one language")
    parser.add_argument("--captions", type=Path, required=True, help="caption table")
    parser.add_argument("--language", required=True, help="ISO 639-1 code")
    parser.add_argument("--output", type=Path, required=True, help="sentence table")
    parser.set_defaults(run=_tokenize)


def _captions(arguments: argparse.Namespace) -> None:
    from pipeline.captions.flickr8k import read_flickr8kcn
    from pipeline.captions.multi30k import read_multi30k
    from pipeline.captions.sources import restricted
    from pipeline.captions.table import write_captions
    from pipeline.errors import InputError

    if arguments.dataset == "multi30k":
        table = read_multi30k(arguments.sources, arguments.split)
    elif arguments.split == "flickr8k":
        table = read_flickr8kcn(arguments.sources)
    else:
        raise InputError(
            "--split multi30k: the data set flickr8kcn has only the split flickr8k; leave it out."
        )
    if arguments.image_list is not None:
        table = restricted(table, arguments.image_list)
    write_captions(table, arguments.output)


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
