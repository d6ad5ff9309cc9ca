"""Commands of the search package: from `bundle` and `index` to `serve`."""

import argparse
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.arguments import json_list
from pipeline.common.errors import InputError
from pipeline.common.text_files import decode_utf8

if TYPE_CHECKING:
    from search.contents import Photographs
    from search.index import Index
    from search.model import SearchModel

log = logging.getLogger("pipeline")

HERE = ("127.0.0.1", "localhost")


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the package's commands to the command line."""
    bundle = subparsers.add_parser("bundle", help="write a trained model to a self-contained folder")
    bundle.add_argument("--model", type=Path, required=True)
    bundle.add_argument("--features", type=Path, required=True, help="features with which it was evaluated")
    bundle.add_argument("--words", type=Path, nargs="+", required=True, help="one vocabulary per language")
    bundle.add_argument("--sentences", type=Path, nargs="+", required=True, help="own captions, tokenised")
    bundle.add_argument("--evaluation", type=Path, required=True, help="JSON written by `evaluate`")
    bundle.add_argument("--data", type=json_list, default=[], help="JSON: `what` and `licence` of the data")
    bundle.add_argument("--output", type=Path, required=True, help="folder to write")
    bundle.set_defaults(run=_bundle)

    index = subparsers.add_parser("index", help="embed photographs and sentences for searching")
    index.add_argument("--bundle", type=Path, required=True)
    index.add_argument("--photographs", type=Path, help="folder of photographs")
    index.add_argument("--features", type=Path, help="feature store to use instead of extracting")
    index.add_argument("--list", type=Path, help="with --features: output of `find-images`")
    index.add_argument(
        "--split", help="index only the images and sentences of one split: FILE:NAME, such as split.csv:test"
    )
    index.add_argument(
        "--sentences", type=Path, nargs="*", default=[], help="caption tables whose sentences are indexed too"
    )
    index.add_argument(
        "--own",
        action="store_true",
        help="of the sentences, index only original captions (docs/decisions.md), without added translations",
    )
    index.add_argument("--workers", type=int, default=2, help="threads that decode and resize")
    index.add_argument(
        "--output", type=Path, required=True, help="folder of the index; an existing index is updated"
    )
    _add_computing(index)
    index.set_defaults(run=_index)

    _add_questions(subparsers)


def _add_questions(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `embed`, `search` and `serve`."""
    embed = subparsers.add_parser("embed", help="embed sentences or photographs")
    embed.add_argument("--bundle", type=Path, required=True)
    what = embed.add_mutually_exclusive_group(required=True)
    what.add_argument("--sentences", type=Path, help="text file, one sentence per line; - is standard input")
    what.add_argument("--photographs", type=Path, nargs="+", help="files or folders")
    embed.add_argument("--output", type=Path, required=True, help=".csv, .json or .h5")
    embed.set_defaults(run=_embed)

    search = subparsers.add_parser("search", help="search an index with sentences or photographs")
    search.add_argument("--index", type=Path, required=True)
    query = search.add_mutually_exclusive_group(required=True)
    query.add_argument("--sentence", nargs="+", metavar="TEXT", help="sentences to search with")
    query.add_argument(
        "--photograph", type=Path, nargs="+", metavar="FILE", help="photographs to search with"
    )
    search.add_argument("--among", choices=("images", "sentences"), default="images")
    search.add_argument("--nearest", type=int, default=10, metavar="K")
    search.add_argument("--output", type=Path, help=".csv, .json or .h5; default: print")
    search.set_defaults(run=_search)

    serve = subparsers.add_parser("serve", help="serve a page for searching indexes, on this machine")
    serve.add_argument(
        "index", type=Path, nargs="+", help="folder of an index; several are shown side by side"
    )
    serve.add_argument("--photographs", type=Path, help="folder of the photographs, if it has moved")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--host", default=HERE[0], help="anything but 127.0.0.1 lets other machines connect")
    serve.add_argument(
        "--token-file",
        type=Path,
        help="file with the token that every request must carry; required with --host",
    )
    serve.set_defaults(run=_serve)

    for parser in (embed, search):
        parser.add_argument(
            "--language", help="language of the sentences; default: detected from the vocabularies"
        )
    for parser in (embed, search, serve):
        _add_computing(parser)
    for parser in (search, serve):
        parser.add_argument("--bundle", type=Path, help="bundle of the index, if it has moved")


def _add_computing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weights", help="the backbone's weights, if the bundle names a file")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, help="threads on a CPU; default: all (serve: 1)")


def _bundle(arguments: argparse.Namespace) -> None:
    from search.bundle import write_bundle

    write_bundle(
        arguments.model,
        arguments.features,
        arguments.words,
        arguments.sentences,
        arguments.evaluation,
        arguments.data,
        arguments.output,
    )


def _index(arguments: argparse.Namespace) -> None:
    from search.contents import sentences_of
    from search.index import build_index

    if arguments.photographs is None and arguments.features is None:
        raise InputError("index: give --photographs, --features or both.")
    _check_count("--workers", arguments.workers)
    chosen = _of_split(arguments.split)
    model = _model(arguments.bundle, arguments)
    photographs = _photographs(arguments, chosen)
    origins = model.bundle.saved.settings["caption_origins"] if arguments.own else None
    build_index(
        model,
        arguments.output,
        photographs,
        arguments.features,
        sentences_of(arguments.sentences, photographs.paths, chosen is not None, origins),
        arguments.workers,
    )


def _embed(arguments: argparse.Namespace) -> None:
    from search.tables import check_ending, write_embeddings

    check_ending(arguments.output)
    model = _model(arguments.bundle, arguments)
    if arguments.photographs:
        paths = _files(arguments.photographs)
        columns, vectors = {"file": list(map(str, paths))}, model.embed_images(paths)
    else:
        sentences = _lines(arguments.sentences)
        languages = [model.recognise(sentence, arguments.language).read.language for sentence in sentences]
        columns = {"sentence": sentences, "language": languages}
        vectors = model.embed_sentences(sentences, arguments.language)
    write_embeddings(arguments.output, columns, vectors)
    log.info("%s: %d embeddings of %d numbers", arguments.output, *vectors.shape)


def _search(arguments: argparse.Namespace) -> None:
    from search.tables import check_ending, write_found

    if arguments.output:
        check_ending(arguments.output)
    _check_count("--nearest", arguments.nearest)
    if not all(map(str.strip, arguments.sentence or [])):
        raise InputError("--sentence: found an empty text, expected a sentence.")
    model, index = _opened(arguments.index, arguments)
    if arguments.photograph:
        queries = list(map(str, arguments.photograph))
        found = model.search(index, images=queries, among=arguments.among, k=arguments.nearest)
    else:
        queries = arguments.sentence
        found = model.search(
            index, sentences=queries, among=arguments.among, k=arguments.nearest, language=arguments.language
        )
    rows = [
        {"query": query, "rank": rank, **_said(index, arguments.among, int(row)), "similarity": float(score)}
        for query, nearest, scores in zip(queries, found.rows, found.scores, strict=True)
        for rank, (row, score) in enumerate(zip(nearest, scores, strict=True), 1)
        if row >= 0
    ]
    if arguments.output:
        write_found(arguments.output, rows)
        return
    for row in rows:
        print(*row.values(), sep="\t")


def _serve(arguments: argparse.Namespace) -> None:
    from search.server import application, read_token, serve

    if not 0 < arguments.port < 1 << 16:
        raise InputError(f"--port {arguments.port}: expected a number from 1 to 65535.")
    elsewhere = arguments.host not in HERE
    if elsewhere and not arguments.token_file:
        raise InputError(
            f"--host {arguments.host}: other machines would reach the page. Give --token-file with a token "
            "that they must know, or leave --host out."
        )
    token = read_token(arguments.token_file) if arguments.token_file else None
    if arguments.threads is None:
        arguments.threads = 1  # of each request; several compute at the same time
    searched = [_opened(folder, arguments) for folder in arguments.index]
    app = application(searched, token, threads=os.cpu_count() or 1)
    where = f"http://{arguments.host}:{arguments.port}/"
    log.info("%s%s; Ctrl-C ends it", where, "?token=... with the token of the file" if token else "")
    serve(app, arguments.host, arguments.port)


def _check_count(option: str, number: int) -> None:
    if number < 1:
        raise InputError(f"{option} {number}: expected a whole number, 1 or more.")


def _model(bundle: Path, arguments: argparse.Namespace) -> "SearchModel":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import torch

    from search import load

    if arguments.threads is not None:
        _check_count("--threads", arguments.threads)
        torch.set_num_threads(arguments.threads)
    return load(bundle, arguments.device, arguments.weights)


def _opened(folder: Path, arguments: argparse.Namespace) -> "tuple[SearchModel, Index]":
    from search.index import open_index

    index = open_index(folder, getattr(arguments, "photographs", None))
    model = _model(arguments.bundle or index.bundle, arguments)
    model.check_index(index)
    return model, index


def _photographs(arguments: argparse.Namespace, chosen: set[str] | None) -> "Photographs":
    from pipeline.images.lists import read_image_list
    from pipeline.images.store import read_store
    from search.contents import (
        Photographs,
        photographs_in,
        photographs_listed,
        photographs_of_features,
        within,
    )

    def of_split(images: Iterable[str]) -> list[str]:
        return list(images) if chosen is None else within(images, chosen, arguments.split)

    if arguments.features is None:
        found = photographs_in(arguments.photographs)
        return Photographs({image: found.paths[image] for image in of_split(found.paths)}, found.folder)
    if arguments.list:
        listed = read_image_list(arguments.list)
        return photographs_listed(of_split(listed), listed, arguments.photographs)
    images = of_split(read_store(arguments.features)[0])
    if arguments.photographs:
        return photographs_of_features(images, arguments.photographs)
    return photographs_listed(images, {}, None)


def _of_split(asked: str | None) -> set[str] | None:
    from pipeline.datasets.split import read_split

    if asked is None:
        return None
    file, _, name = asked.rpartition(":")
    if not file or name not in ("train", "val", "test"):
        raise InputError(
            f"--split {asked}: expected FILE:NAME with train, val or test, such as split.csv:test."
        )
    return {image for image, split in read_split(Path(file)).items() if split == name}


def _said(index: "Index", among: str, row: int) -> dict[str, Any]:
    if among == "images":
        return {"image": index.images[row], "file": index.files[row]}
    image, language, text = index.sentences[row]
    return {"sentence": text, "language": language, "image": image}


def _files(given: list[Path]) -> list[Path]:
    from search.contents import photographs_in

    found: list[Path] = []
    for path in given:
        found += [file for file in photographs_in(path).paths.values() if file] if path.is_dir() else [path]
    return found


def _lines(path: Path) -> list[str]:
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: not found. Expected a text file with one sentence per line.") from None
    lines = [line.strip() for line in decode_utf8(content, path).splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path}: no sentences. Expected one per line.")
    return lines
