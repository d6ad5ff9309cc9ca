"""An index: the embeddings of photographs, and of sentences if wanted, in one folder, by one model.

| file                | what                                                                             |
|---------------------|----------------------------------------------------------------------------------|
| `index.json`        | names the files of the index by their digests; written last, so an index is whole |
| `images-*.csv`      | id of each image, and its file in the folder of photographs                      |
| `images-*.npy`      | (n, e) float16, unit vectors                                                     |
| `sentences-*.csv`   | image, language and text of each sentence                                        |
| `sentences-*.npy`   | (B, e) float16, unit vectors                                                     |
| `nearest-*.faiss`   | approximate index, where there are more than a million images                    |
| `features.h5`       | features of the photographs, so that a later indexing extracts only new ones     |
"""

import csv
import functools
import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write, name_in_errors, require_file, reserve_space, sha256
from pipeline.common.locks import open_locked
from pipeline.common.progress import Progress
from pipeline.images.store import DONE
from search import nearest
from search.bundle import BACKBONE, backbone_of
from search.contents import ENDINGS, Photographs, Sentence
from search.model import BATCH, SearchModel

log = logging.getLogger("pipeline")

FORMAT = 1
INDEX = "index.json"
LOCK = ".lock"
SAME_FEATURES = tuple(key for key in BACKBONE if key not in ("weights", "precision"))
ROWS = 4096  # features that are embedded at a time
_NAME = re.compile(r"(images|sentences|nearest)-(?P<digest>[0-9a-f]{16})[.](csv|npy|faiss)")
HINT = "Index again with `python -m pipeline index`."


@dataclass(frozen=True)
class Index:
    """An index as it was opened; its vectors are memory-mapped.

    Attributes:
        images: ids. files: file of each image, relative to `photographs`; "" for one without.
        image_vectors: (n, e) float16. sentences: image, language, text. sentence_vectors: (B, e) float16.
        approximate: of the images, where there are too many for exact search.
        bundle: the folder of the model that made it.
    """

    folder: Path
    images: list[str]
    files: list[str]
    image_vectors: NDArray[np.float16]
    sentences: list[Sentence]
    sentence_vectors: NDArray[np.float16]
    approximate: Any
    photographs: Path | None
    bundle: Path
    bundle_digest: str

    @functools.cached_property
    def rows(self) -> dict[str, int]:
        """Row of each image id."""
        return {image: row for row, image in enumerate(self.images)}

    @functools.cached_property
    def sentences_of(self) -> dict[str, list[int]]:
        """Rows of the sentences that an image has."""
        found: dict[str, list[int]] = {}
        for row, (image, _, _) in enumerate(self.sentences):
            found.setdefault(image, []).append(row)
        return found

    def file_of(self, image: str) -> Path | None:
        """The file of an indexed image; None where it has none, or one that has since left the folder.

        Links are followed first: a file outside the folder is none.
        """
        row = self.rows.get(image)
        if row is None or not self.files[row] or self.photographs is None:
            return None
        path = (self.photographs / self.files[row]).resolve()
        inside = path.is_relative_to(self.photographs.resolve())
        return path if inside and path.suffix.lower() in ENDINGS and path.is_file() else None


def build_index(
    model: SearchModel,
    output: Path,
    photographs: Photographs,
    features: Path | None = None,
    sentences: Sequence[Sentence] = (),
    workers: int = 2,
    exact_up_to: int = nearest.EXACT_UP_TO,
) -> None:
    """Make an index, or bring an earlier one up to date.

    Photographs are extracted into `features.h5`, new and changed ones alone; a killed run goes on where it
    was, and ends with the same index as an undisturbed one. `index.json` is replaced last: until then an
    earlier index stays as it was.

    Args:
        features: a store of the images' features; None to extract them here.
        sentences: to be found by images. exact_up_to: images beyond which an approximate index is made.

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
        store = features or _extracted(model, photographs, output, workers)
        files: dict[str, str] = {}
        images = _embed_images(model, photographs, store, output, files)
        _embed_sentences(model, sentences, output, files)
        if len(images) > exact_up_to and model.model.similarity == "cosine":
            _kept(output, "nearest", ".faiss", files, _writes_approximate(output / files["images.npy"]))
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


def open_index(folder: Path, photographs: Path | None = None) -> Index:
    """Open an index; raises `InputError` where it is not whole, or a file has changed since.

    Args:
        photographs: their folder, where it is no longer where it was.
    """
    path = require_file(folder / INDEX, "the index", "Make it with `python -m pipeline index`.")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise InputError(f"{path}: format {values['format']}, expected {FORMAT}. {HINT}")
        named: dict[str, Path] = {key: _sound(folder, key, name) for key, name in values["files"].items()}
        counts = values["images"], values["sentences"]
        moved = photographs or (values["photographs"] and folder / values["photographs"])
        images, sentences = _read_csv(named["images.csv"], 2), _read_csv(named["sentences.csv"], 3)
        vectors = [np.load(named[f"{key}.npy"], mmap_mode="c") for key in ("images", "sentences")]
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: is not there. {HINT}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: not an index of this project ({error!r}). {HINT}") from None
    if counts != (len(images), len(sentences)) or counts != tuple(map(len, vectors)):
        raise InputError(f"{path}: its files hold other numbers of images or sentences than it says. {HINT}")
    return Index(
        folder=folder,
        images=[image for image, _ in images],
        files=[file for _, file in images],
        image_vectors=vectors[0],
        sentences=[(image, language, text) for image, language, text in sentences],
        sentence_vectors=vectors[1],
        approximate=nearest.opened(named["nearest.faiss"]) if "nearest.faiss" in named else None,
        photographs=Path(moved) if moved else None,
        bundle=(folder / values["bundle"]).resolve(),
        bundle_digest=values["bundle_digest"],
    )


def _sound(folder: Path, key: str, name: str) -> Path:
    """A file of an index, which lies in its folder and has the digest that its name says."""
    if not (match := _NAME.fullmatch(name)):
        raise ValueError(f"{key}: found the name {name!r}")
    path = folder / name
    if not sha256(path).startswith(match["digest"]):
        raise InputError(f"{path}: changed since it was written, by its disk or a copy. {HINT}")
    return path


def _extracted(model: SearchModel, photographs: Photographs, output: Path, workers: int) -> Path:
    """The store of the photographs' features, brought up to date."""
    from pipeline.digest import digest
    from pipeline.images.extract import extract

    paths = {image: path for image, path in photographs.paths.items() if path is not None}
    backbone, settings = model.backbone(BATCH)
    store = output / "features.h5"
    extract(
        paths,
        backbone,
        settings,
        partial=output / "features.partial.h5",
        output=store,
        failed=output / "failed.csv",
        workers=workers,
        failures_allowed=len(paths) - 1,
        earlier=store,
        code=digest("features"),
    )
    return store


def _embed_images(
    model: SearchModel, photographs: Photographs, store: Path, output: Path, files: dict[str, str]
) -> list[str]:
    """Write ids and vectors of the images that have features, in the order of `photographs`."""
    stored, done = _stored(store)
    row = {image: number for number, image in enumerate(stored) if done[number]}
    images = [image for image in photographs.paths if image in row]
    if not images:
        raise InputError(f"{store}: has features of none of the images. Give the store of these images.")
    if missing := len(photographs.paths) - len(images):
        log.warning("%d of %d images have no features and are left out", missing, len(photographs.paths))

    def write(path: Path) -> None:
        vectors = open_memmap(path, "w+", np.float16, (len(images), model.size))
        reserve_space(path)  # or a disk that fills up would end the process by SIGBUS
        progress = Progress("embeddings", len(images))
        with name_in_errors(store), h5py.File(store) as file:
            for begin in range(0, len(images), ROWS):
                rows = np.array([row[image] for image in images[begin : begin + ROWS]])
                vectors[begin : begin + ROWS] = model.embed_features(_rows(file["features"], rows), store)
                progress.advance(len(rows))
        if not np.isfinite(vectors).all():
            raise InputError(f"{store}: features that are not finite numbers. Make them again.")
        vectors.flush()

    _kept(output, "images", ".npy", files, write)
    table = [(image, _relative(photographs.paths[image], photographs.folder)) for image in images]
    _kept(output, "images", ".csv", files, lambda path: _write_csv(path, table))
    return images


def _embed_sentences(
    model: SearchModel, sentences: Sequence[Sentence], output: Path, files: dict[str, str]
) -> None:
    vectors = np.zeros((len(sentences), model.size), np.float16)
    for language in dict.fromkeys(language for _, language, _ in sentences):
        rows = [row for row, sentence in enumerate(sentences) if sentence[1] == language]
        vectors[rows] = model.embed_sentences([sentences[row][2] for row in rows], language)
        log.info("%s: %d sentences embedded", language, len(rows))
    _kept(output, "sentences", ".npy", files, lambda path: _write_npy(path, vectors))
    _kept(output, "sentences", ".csv", files, lambda path: _write_csv(path, sentences))


def _writes_approximate(vectors: Path) -> Callable[[Path], None]:
    return lambda path: nearest.build(np.load(vectors, mmap_mode="r"), path)


def _kept(output: Path, name: str, ending: str, files: dict[str, str], write: Callable[[Path], None]) -> None:
    """Write a file under a name with its digest, and note the name; an index in use keeps its own files."""
    with atomic_write(output / f"{name}{ending}") as temporary:
        write(temporary)
        kept = f"{name}-{sha256(temporary)[:16]}{ending}"
    os.replace(output / f"{name}{ending}", output / kept)  # also where a damaged file has that name
    files[f"{name}{ending}"] = kept


def _stored(store: Path) -> tuple[list[str], NDArray[np.bool_]]:
    """Ids of a feature store, and which of them have features."""
    with (
        name_in_errors(store),
        h5py.File(require_file(store, "the feature store", "Extract it."), "r") as file,
    ):
        if {"image", "features"} - file.keys():
            raise InputError(f"{store}: expected datasets features (N, D) and image (N,).")
        images = [str(image) for image in file["image"].asstr()[...].ravel()]
        done = file["done"][...] == DONE if "done" in file else np.ones(len(images), bool)
    return images, done


def _rows(features: h5py.Dataset, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Some rows of a dataset, in any order."""
    distinct, place = np.unique(rows, return_inverse=True)
    if distinct[-1] - distinct[0] < 2 * len(rows):  # neighbours: far faster read as one
        return features[distinct[0] : distinct[-1] + 1][rows - distinct[0]].astype(np.float32)
    return features[distinct][place].astype(np.float32)


def _check_features(store: Path, trained: Mapping[str, Any]) -> None:
    """Features must be made as those that the model was trained on, as far as both say how.

    Their precision need not be the same.
    """
    given = backbone_of(store)
    if "backbone" not in given:
        log.warning("%s: has no attribute `backbone`; taken to be of %s", store, trained.get("backbone"))
    mistakes = [
        f"{key}: found {given[key]!r}, expected {trained[key]!r}"
        for key in SAME_FEATURES
        if key in given and key in trained and not _agree(given[key], trained[key])
    ]
    raise_together(mistakes, f"{store}: not features as the model was trained on. Give the store of those:")


def _agree(one: Any, other: Any) -> bool:
    """Whether values are equal, or one is the other's name without its remark in brackets."""
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return bool(one == other)
    return other == one.partition(" (")[0] or one == other.partition(" (")[0]


def _check_sentences(sentences: Sequence[Sentence], model: SearchModel) -> None:
    others = sorted({language for _, language, _ in sentences} - set(model.languages))
    raise_together(
        [f"{language!r}: the model reads {', '.join(model.languages)}" for language in others],
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


def _read_csv(path: Path, columns: int) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if any(len(row) != columns for row in rows):
        raise InputError(f"{path}: damaged, expected {columns} columns. {HINT}")
    return rows


def _remove_others(output: Path, files: Mapping[str, str]) -> None:
    """Remove the files of an earlier index."""
    for path in output.iterdir():
        if _NAME.fullmatch(path.name) and path.name not in files.values():
            path.unlink()


def _check_folder(output: Path) -> None:
    """Never among other files: an index of before, perhaps unfinished, or nothing."""
    if any(output.iterdir()) and not any((output / name).exists() for name in (INDEX, LOCK)):
        raise InputError(f"{output}: holds other files and no index. Give a folder that is empty or new.")
