"""Building an index of photographs and sentences, or bringing an earlier one up to date."""

import csv
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write, reserve_space, sha256
from pipeline.common.locks import open_locked
from pipeline.common.progress import Progress
from pipeline.datasets.split import read_split
from pipeline.images.extract import extract
from pipeline.images.lists import read_image_list
from pipeline.images.store import read_store, rows_of
from search.bundle import BACKBONE_KEYS, backbone_of
from search.contents import (
    Photographs,
    Sentence,
    images_of_split,
    photographs_in,
    photographs_listed,
    photographs_of_features,
    sentences_of,
)
from search.index import FILE_NAME, FORMAT, INDEX
from search.model import BATCH, SearchModel, check_positive, load
from search.nearest import MAX_EXACT, build_approximate

log = logging.getLogger("pipeline")

LOCK = ".lock"
COMPARED_KEYS = tuple(key for key in BACKBONE_KEYS if key not in ("weights", "precision"))
ROWS = 4096  # features that are embedded at a time


def build_index(
    bundle: Path,
    output: Path,
    photographs: Path | None = None,
    features: Path | None = None,
    image_list: Path | None = None,
    split: str | None = None,
    sentences: Sequence[Path] = (),
    original: bool = False,
    workers: int = 2,
    weights: str | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int | None = None,
) -> None:
    """Embed photographs and sentences for searching.

    Args:
        bundle: folder of the model.
        output: folder of the index; an existing index is updated.
        photographs: folder of photographs.
        features: feature store to use instead of extracting.
        image_list: with --features, the output of `find-images`.
        split: index only the images and sentences of one split, given as FILE:NAME, such as split.csv:test.
        sentences: caption tables whose sentences are indexed too.
        original: of the sentences, index only original captions, without added translations.
        workers: threads that decode and resize.
        weights: file of the backbone's weights, if the bundle names a file.
        device: device of the model.
        threads: threads on a CPU; by default all.

    Raises:
        InputError: neither photographs nor features are given, or as `write_index`.
    """
    if photographs is None and features is None:
        raise InputError("build-index: give --photographs, --features or both.")
    check_positive("--workers", workers)
    names = None if split is None else _names_in(split)
    model = load(bundle, device, weights, threads)

    def of_split(images: Iterable[str]) -> list[str]:
        return list(images) if names is None else images_of_split(images, names, str(split))

    contents = _contents(photographs, features, image_list, of_split)
    origins = model.bundle.record.settings.caption_origins if original else None
    indexed_sentences = sentences_of(sentences, contents.paths, split is not None, origins)
    write_index(model, output, contents, features, indexed_sentences, workers)


def _contents(
    photographs: Path | None,
    features: Path | None,
    image_list: Path | None,
    of_split: Callable[[Iterable[str]], list[str]],
) -> Photographs:
    """The images to index, of the split if there is one."""
    if features is None:
        assert photographs is not None, "build_index has checked it"
        all_photographs = photographs_in(photographs)
        return Photographs(
            {image: all_photographs.paths[image] for image in of_split(all_photographs.paths)},
            all_photographs.folder,
        )
    if image_list:
        files = read_image_list(image_list)
        return photographs_listed(of_split(files), files, photographs)
    images = of_split(read_store(features)[0])
    if photographs:
        return photographs_of_features(images, photographs)
    return photographs_listed(images, {}, None)


def _names_in(split: str) -> set[str]:
    """Names of the images in FILE:NAME."""
    file, _, name = split.rpartition(":")
    if not file or name not in ("train", "val", "test"):
        raise InputError(
            f"--split {split}: expected FILE:NAME with train, val or test, such as split.csv:test."
        )
    return {image for image, split_of_image in read_split(Path(file)).items() if split_of_image == name}


def write_index(
    model: SearchModel,
    output: Path,
    photographs: Photographs,
    features: Path | None = None,
    sentences: Sequence[Sentence] = (),
    workers: int = 2,
    max_exact: int = MAX_EXACT,
) -> None:
    """Write an index, or bring an earlier one up to date.

    Features of new and changed photographs are extracted into `features.h5`. A killed run resumes where it
    was, and ends with the same index as an undisturbed one. `index.json` is replaced last: until then an
    earlier index stays as it was.

    Args:
        features: a store of the images' features; None to extract them here.
        sentences: sentences that images can find. max_exact: with more images, an approximate index is built.

    Raises:
        InputError: no photograph decodes, sentences are in languages that the model does not read, the store
            is of another network or other crops than the model was trained on, or another process is indexing
            there.
    """
    _check_sentences(sentences, model)
    if features:
        _check_features(features, model.bundle.backbone)
    output.mkdir(parents=True, exist_ok=True)
    _check_folder(output)
    with open_locked(output / LOCK):
        store = features or _extract(model, photographs, output, workers)
        files: dict[str, str] = {}
        images = _embed_images(model, photographs, store, output, files)
        _embed_sentences(model, sentences, output, files)
        if len(images) > max_exact and model.network.similarity == "cosine":
            vectors = np.load(output / files["images.npy"], mmap_mode="r")
            _write(output, "nearest", ".faiss", files, lambda path: build_approximate(vectors, path))
        values = {
            "format": FORMAT,
            "bundle": os.path.relpath(model.bundle.folder.resolve(), output.resolve()),
            "bundle_digest": model.bundle.digest,
            "photographs": photographs.folder and os.path.relpath(photographs.folder, output.resolve()),
            "images": len(images),
            "sentences": len(sentences),
            "files": files,
        }
        with atomic_write(output / INDEX) as temporary:
            temporary.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        _remove_others(output, files)
    log.info("%s: %d images, %d sentences", output, len(images), len(sentences))


def _extract(model: SearchModel, photographs: Photographs, output: Path, workers: int) -> Path:
    """Bring the store of the photographs' features up to date and return its path."""
    paths = {image: path for image, path in photographs.paths.items() if path is not None}
    backbone, settings = model.backbone(BATCH)
    store = output / "features.h5"
    reasons = extract(paths, backbone, settings, output / "cache", store, workers)
    rows = [(image, str(paths[image]), reason) for image, reason in reasons.items()]
    _write_csv(output / "failed.csv", rows)
    return store


def _embed_images(
    model: SearchModel, photographs: Photographs, store: Path, output: Path, files: dict[str, str]
) -> list[str]:
    """Write ids and vectors of the images that have features, in the order of `photographs`."""
    ids, stored, _ = read_store(store)
    known = set(ids)
    images = [image for image in photographs.paths if image in known]
    if not images:
        raise InputError(f"{store}: has features of no image to index. Give the store of these images.")
    if missing := len(photographs.paths) - len(images):
        log.warning("%d of %d images have no features and are left out", missing, len(photographs.paths))

    def write(path: Path) -> None:
        vectors = open_memmap(path, "w+", np.float16, (len(images), model.size))
        reserve_space(path)  # or a disk that fills up would end the process by SIGBUS
        progress = Progress("embeddings", len(images))
        features = rows_of(store, ids, stored, images)
        for start in range(0, len(images), ROWS):
            chunk = features[start : start + ROWS]
            vectors[start : start + ROWS] = model.embed_features(chunk, store)
            progress.advance(len(chunk))
        vectors.flush()

    _write(output, "images", ".npy", files, write)
    table = [(image, _relative(photographs.paths[image], photographs.folder)) for image in images]
    _write(output, "images", ".csv", files, lambda path: _write_csv(path, table))
    return images


def _embed_sentences(
    model: SearchModel, sentences: Sequence[Sentence], output: Path, files: dict[str, str]
) -> None:
    vectors = np.zeros((len(sentences), model.size), np.float16)
    for language in dict.fromkeys(language for _, language, _ in sentences):
        rows = [row for row, sentence in enumerate(sentences) if sentence[1] == language]
        vectors[rows] = model.embed_sentences([sentences[row][2] for row in rows], language)
        log.info("%s: %d sentences embedded", language, len(rows))
    _write(output, "sentences", ".npy", files, lambda path: _write_npy(path, vectors))
    _write(output, "sentences", ".csv", files, lambda path: _write_csv(path, sentences))


def _write(
    output: Path, name: str, ending: str, files: dict[str, str], write: Callable[[Path], None]
) -> None:
    """Write a file under a name with its digest, and note the name; an open index keeps its own files."""
    with atomic_write(output / f"{name}{ending}") as temporary:
        write(temporary)
        final = f"{name}-{sha256(temporary)[:16]}{ending}"
    os.replace(output / f"{name}{ending}", output / final)  # also if a damaged file has that name
    files[f"{name}{ending}"] = final


def _check_features(store: Path, expected: Mapping[str, object]) -> None:
    """Raise `InputError` if features are known to differ from the features that the model was trained on.

    Their precision may differ.
    """
    found = backbone_of(store)
    if "backbone" not in found:
        log.warning("%s: has no attribute `backbone`; %s is assumed", store, expected.get("backbone"))
    mistakes = [
        f"{key}: found {found[key]!r}, expected {expected[key]!r}"
        for key in COMPARED_KEYS
        if key in found and key in expected and not _agree(found[key], expected[key])
    ]
    raise_together(
        mistakes, f"{store}: not features as the model was trained on. Give a store of such features:"
    )


def _agree(first: object, second: object) -> bool:
    """Whether values are equal, ignoring a remark in brackets at the end of either."""
    if first == second or not (isinstance(first, str) and isinstance(second, str)):
        return bool(first == second)
    return second == first.partition(" (")[0] or first == second.partition(" (")[0]


def _check_sentences(sentences: Sequence[Sentence], model: SearchModel) -> None:
    unread = sorted({language for _, language, _ in sentences} - set(model.languages))
    raise_together(
        [f"{language!r}: the model reads {', '.join(model.languages)}" for language in unread],
        "Sentences are in languages that the model does not read; leave them out:",
    )


def _relative(path: Path | None, folder: Path | None) -> str:
    if path is None or folder is None:
        return ""
    return os.path.relpath(path.resolve(), folder)


def _write_npy(path: Path, vectors: NDArray[np.float16]) -> None:
    with open(path, "wb") as file:  # given a path, it would add an ending
        np.save(file, vectors)


def _write_csv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _remove_others(output: Path, files: Mapping[str, str]) -> None:
    """Remove the files of an earlier index."""
    for path in output.iterdir():
        if FILE_NAME.fullmatch(path.name) and path.name not in files.values():
            path.unlink()


def _check_folder(output: Path) -> None:
    """Refuse a folder with other files: it must be empty, or hold an index, which may be unfinished."""
    if any(output.iterdir()) and not any((output / name).exists() for name in (INDEX, LOCK)):
        raise InputError(f"{output}: holds other files and no index. Give a folder that is empty or new.")
