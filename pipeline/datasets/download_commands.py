"""Command line of the sources: download, unpack."""

import argparse
from pathlib import Path


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the sub-commands of this package."""
    parser = subparsers.add_parser("download", help="download one published file and verify it")
    parser.add_argument("--url", nargs="+", required=True, help="http, https or file URLs, tried in order")
    parser.add_argument("--file", required=True, help="HOST/PATH, its name in a mirror and in the lock file")
    parser.add_argument("--sha256", required=True, help='64 hexadecimal digits or "first use"')
    parser.add_argument("--bytes", type=_size, help="expected size; default: what the server reports")
    parser.add_argument("--mirror", default="", help="folder or http URL laid out as HOST/PATH to copy from")
    parser.add_argument("--lock", type=Path, help="file that records digests on first use")
    parser.add_argument("--output", type=Path, required=True)
    parser.set_defaults(run=_download)

    parser = subparsers.add_parser("unpack", help="unpack archives of photographs into one folder")
    parser.add_argument(
        "--archive", type=Path, nargs="+", required=True, help=".zip, .tar, .tar.gz, .tar.bz2, .tar.xz"
    )
    parser.add_argument("--output", type=Path, required=True, help="folder to create")
    parser.set_defaults(run=_unpack)


def _size(text: str) -> int | None:
    # An empty cell of workflow/sources.csv arrives as an empty string.
    return int(text) if text else None


def _download(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.download import download

    download(
        arguments.url,
        arguments.output,
        arguments.file,
        arguments.sha256,
        arguments.bytes,
        arguments.mirror,
        arguments.lock,
    )


def _unpack(arguments: argparse.Namespace) -> None:
    from pipeline.datasets.unpack import unpack

    unpack(arguments.archive, arguments.output)
