"""An index: the embeddings of photographs, and of sentences if wanted, in one folder, by one model.

| file                | what                                                                              |
|---------------------|-----------------------------------------------------------------------------------|
| `index.json`        | names the files of the index by their digests; written last, so an index is whole |
| `images-*.csv`      | id of each image, and its file in the folder of photographs                       |
| `images-*.npy`      | (n, e) float16, unit vectors                                                      |
| `sentences-*.csv`   | image, language and text of each sentence                                         |
| `sentences-*.npy`   | (B, e) float16, unit vectors                                                      |
| `nearest-*.faiss`   | approximate index, if there are more than a million images                        |
| `features.h5`       | features of the photographs, so that a later indexing extracts only new ones      |
"""

import csv
import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.common.errors import InputError
from pipeline.common.files import require_file, sha256
from pipeline.common.photographs import is_photograph
from search.contents import Sentence
from search.nearest import open_approximate

FORMAT = 1
INDEX = "index.json"
FILE_NAME = re.compile(r"(images|sentences|nearest)-(?P<digest>[0-9a-f]{16})[.](csv|npy|faiss)")
HINT = "Index again with `python -m search build-index`."


@dataclass(frozen=True)
class Index:
    """An open index, whose vectors are memory-mapped.

    Attributes:
        images: ids. files: file of each image, relative to `photographs`; "" if it has none.
        image_vectors: (n, e) float16. sentences: image, language, text. sentence_vectors: (B, e) float16.
        approximate: approximate index of the images, if there are too many for exact search.
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
        return self._rows_by(0)

    @functools.cached_property
    def rows_with_file(self) -> list[int]:
        """Rows of the images that had a file when they were indexed."""
        return [row for row, file in enumerate(self.files) if file]

    @functools.cached_property
    def sentences_in(self) -> dict[str, list[int]]:
        """Rows of the sentences in each language."""
        return self._rows_by(1)

    def _rows_by(self, column: int) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, sentence in enumerate(self.sentences):
            rows.setdefault(sentence[column], []).append(row)
        return rows

    def file_of(self, image: str) -> Path | None:
        """The file of an indexed image; None if it has none, or one that has since left the folder.

        Links are followed first, so a link to a file outside the folder gives None.
        """
        row = self.rows.get(image)
        if row is None or not self.files[row] or self.photographs is None:
            return None
        path = (self.photographs / self.files[row]).resolve()
        in_folder = path.is_relative_to(self.photographs.resolve())
        return path if in_folder and is_photograph(path.name) and path.is_file() else None


def open_index(folder: Path, photographs: Path | None = None) -> Index:
    """Open an index.

    Args:
        photographs: their folder, if it is no longer where it was.

    Raises:
        InputError: the index is not whole, or a file has changed since it was written.
    """
    path = require_file(
        folder / INDEX,
        "the index",
        f"Make it with `snakemake {folder}`, or give another folder that `build-index` wrote.",
    )
    try:
        values = json.loads(path.read_bytes())
        if values["format"] != FORMAT:
            raise InputError(f"{path}: format {values['format']}, expected {FORMAT}. {HINT}")
        paths: dict[str, Path] = {
            key: _verified_file(folder, key, name) for key, name in values["files"].items()
        }
        counts = values["images"], values["sentences"]
        folder_of_photographs = photographs or (values["photographs"] and folder / values["photographs"])
        images, sentences = _read_csv(paths["images.csv"], 2), _read_csv(paths["sentences.csv"], 3)
        vectors = [np.load(paths[f"{key}.npy"], mmap_mode="c") for key in ("images", "sentences")]
        _check_vectors(vectors)
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: is not there. {HINT}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not an index of this project ({error!r}). {HINT}") from None
    if counts != (len(images), len(sentences)) or counts != tuple(map(len, vectors)):
        raise InputError(
            f"{path}: the numbers of images or sentences in its files differ from its own. {HINT}"
        )
    return Index(
        folder=folder,
        images=[image for image, _ in images],
        files=[file for _, file in images],
        image_vectors=vectors[0],
        sentences=[(image, language, text) for image, language, text in sentences],
        sentence_vectors=vectors[1],
        approximate=open_approximate(paths["nearest.faiss"]) if "nearest.faiss" in paths else None,
        photographs=Path(folder_of_photographs) if folder_of_photographs else None,
        bundle=(folder / values["bundle"]).resolve(),
        bundle_digest=values["bundle_digest"],
    )


def _check_vectors(vectors: Sequence[NDArray[np.float16]]) -> None:
    """Raise `ValueError` for vectors that no index has: not finite, all 0, or of another shape or type."""
    for rows in vectors:
        if rows.ndim != 2 or rows.dtype.kind != "f" or rows.shape[1:] != vectors[0].shape[1:]:
            raise ValueError(f"vectors of shape {rows.shape} and type {rows.dtype}")
        if not np.isfinite(rows).all() or not rows.any(axis=1).all():
            raise ValueError("vectors that are not finite, or all 0")


def _verified_file(folder: Path, key: str, name: str) -> Path:
    """A file of an index, which is in its folder and has the digest that its name says."""
    if not (match := FILE_NAME.fullmatch(name)):
        raise ValueError(f"{key}: found the name {name!r}")
    path = folder / name
    if not sha256(path).startswith(match["digest"]):
        raise InputError(f"{path}: changed since it was written, by its disk or a copy. {HINT}")
    return path


def _read_csv(path: Path, columns: int) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if any(len(row) != columns for row in rows):
        raise InputError(f"{path}: damaged, expected {columns} columns. {HINT}")
    return rows
