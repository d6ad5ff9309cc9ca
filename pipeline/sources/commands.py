"""Command line of the sources: download, photographs."""

import argparse
from pathlib import Path


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this room."""
    parser = subparsers.add_parser("download", help="fetch one published file and check its digest")
    parser.add_argument("--url", required=True, help="http, https or file URL")
    parser.add_argument("--sha256", default="", help="expected digest; left out: logged, not checked")
    parser.add_argument("--bytes", type=_size, help="expected size; left out: not checked")
    parser.add_argument("--mirror", type=Path, help="folder laid out as HOST/PATH to copy from instead")
    parser.add_argument("--output", type=Path, required=True)
    parser.set_defaults(run=_download)

    parser = subparsers.add_parser("photographs", help="unpack a Flickr archive as {image id}.jpg")
    parser.add_argument("--archive", type=Path, required=True, help="ZIP archive of JPEG files")
    parser.add_argument("--output", type=Path, required=True, help="folder to make")
    parser.set_defaults(run=_photographs)


def _size(text: str) -> int | None:
    # An empty cell of workflow/sources.csv arrives as an empty string.
    return int(text) if text else None


def _download(arguments: argparse.Namespace) -> None:
    from pipeline.sources.download import download

    download(arguments.url, arguments.output, arguments.sha256, arguments.bytes, arguments.mirror)


def _photographs(arguments: argparse.Namespace) -> None:
    from pipeline.sources.download import unpack_photographs

    unpack_photographs(arguments.archive, arguments.output)
