"""Embeddings and search results as CSV, JSON or HDF5."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.common.hdf5 import create_hdf5

ENDINGS = (".csv", ".json", ".h5")


def check_ending(path: Path) -> None:
    """Raise `InputError` if a file's ending names no format."""
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: ending {path.suffix!r}, expected one of {', '.join(ENDINGS)}.")


def write_embeddings(path: Path, columns: Mapping[str, Sequence[str]], vectors: NDArray[np.float32]) -> None:
    """Write vectors (n, e) with columns that describe them.

    CSV: the columns, then `0` to `e - 1`. JSON: a list of objects with `vector`. HDF5: one dataset per
    column, and `vectors`.
    """
    check_ending(path)
    if path.suffix == ".h5":
        _write_hdf5(path, {**columns, "vectors": vectors})
        return
    with atomic_write(path) as temporary:
        if path.suffix == ".json":
            rows = [
                {**dict(zip(columns, row, strict=True)), "vector": vector.tolist()}
                for *row, vector in zip(*columns.values(), vectors, strict=True)
            ]
            temporary.write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")
        else:
            head = [*columns, *map(str, range(vectors.shape[1]))]
            lines = (
                [*row, *vector.tolist()] for *row, vector in zip(*columns.values(), vectors, strict=True)
            )
            _write_csv(temporary, head, lines)


def write_results(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write search results: one row per query and rank, all with the same keys."""
    check_ending(path)
    keys = list(rows[0]) if rows else []
    if path.suffix == ".h5":
        _write_hdf5(path, {key: [row[key] for row in rows] for key in keys})
        return
    with atomic_write(path) as temporary:
        if path.suffix == ".json":
            temporary.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        else:
            _write_csv(temporary, keys, (row.values() for row in rows))


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _write_hdf5(path: Path, columns: Mapping[str, Sequence[object] | np.ndarray]) -> None:
    with create_hdf5(path) as file:
        for name, values in columns.items():
            text = len(values) and isinstance(values[0], str)
            file.create_dataset(name, data=values, dtype=h5py.string_dtype() if text else None)
