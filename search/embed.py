"""Embeddings of sentences or photographs, written to a file."""

import logging
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pipeline.common.errors import InputError
from pipeline.common.files import reading, require_file
from search.contents import photographs_in
from search.model import load
from search.result_files import check_ending, write_embeddings

log = logging.getLogger("pipeline")


def embed(
    bundle: Path,
    output: Path,
    sentences: Path | None = None,
    photographs: Sequence[Path] = (),
    language: str | None = None,
    weights: str | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int | None = None,
) -> None:
    """Embed sentences or photographs.

    Args:
        bundle: folder of the model.
        output: file to write, .csv, .json or .h5.
        sentences: text file with one sentence per line; - is standard input.
        photographs: files or folders.
        language: language of the sentences; by default each sentence's is detected from the vocabularies.
        weights: file of the backbone's weights, if the bundle names a file.
        device: device of the model.
        threads: threads on a CPU; by default all.
    """
    check_ending(output)
    if (sentences is None) == (not photographs):
        raise InputError("embed: give either --sentences or --photographs.")
    model = load(bundle, device, weights, threads)
    if sentences is None:
        paths = _files(photographs)
        columns, vectors = {"file": list(map(str, paths))}, model.embed_images(paths)
    else:
        texts = _read_sentences(sentences)
        languages = [model.parse(text, language).sentence.language for text in texts]
        columns = {"sentence": texts, "language": languages}
        vectors = model.embed_sentences(texts, language)
    write_embeddings(output, columns, vectors)
    log.info("%s: %d embeddings of %d numbers", output, *vectors.shape)


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files, and in place of each folder its photographs."""
    files: list[Path] = []
    for path in paths:
        files += [file for file in photographs_in(path).paths.values() if file] if path.is_dir() else [path]
    return files


def _read_sentences(path: Path) -> list[str]:
    """The lines of a file that are not empty, whichever line ends it has.

    Not splitlines(), which also ends a line at rarer separators that stand inside captions.
    """
    if str(path) == "-":
        content = sys.stdin.buffer.read()
    else:
        mend = "Give a text file with one sentence per line."
        content = require_file(path, "the file of sentences", mend).read_bytes()
    with reading(path, "a text in UTF-8", "Save it in UTF-8."):
        text = content.decode("utf-8-sig")
    lines = [line.strip() for line in re.split(r"\r\n?|\n", text) if line.strip()]
    if not lines:
        raise InputError(f"{path}: no sentences. Expected one per line.")
    if {"image", "caption"} <= set(lines[0].split(",")):
        raise InputError(f"{path}: found a table, expected one sentence per line. Give its column `caption`.")
    return lines
