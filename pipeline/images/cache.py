"""Features of photographs that were read before, so that a killed or changed extraction reads only the rest.

A folder has the features made in one way (network, weights, crops, versions, code), in blocks of one file
each. Several jobs, on several machines, may add to it: a block is written once and never changed.
"""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.common.files import atomic_write

log = logging.getLogger("pipeline")


class FeatureCache:
    """The features in a folder that were made with some attributes.

    Attributes:
        places: the file and the row of each photograph's features, by its key.
    """

    def __init__(self, folder: Path, attributes: Mapping[str, object]):
        text = json.dumps(attributes, sort_keys=True, default=str)
        self.folder = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        self.places: dict[str, tuple[Path, int]] = {}
        for path in sorted(self.folder.glob("*.npz")):
            try:
                with np.load(path) as block:
                    self._note(path, [str(key) for key in block["keys"]])
            except Exception as error:  # what a damaged archive raises depends on the damage
                log.warning("%s: damaged (%s): its photographs are read again", path, error)
                path.unlink()

    def __contains__(self, key: str) -> bool:
        return key in self.places

    def add(self, keys: Sequence[str], features: np.ndarray) -> None:
        """Keep features (len(keys), D)."""
        if not keys:
            return
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
        path = self.folder / f"{name}.npz"
        with atomic_write(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, keys=np.array(keys), features=features)
        self._note(path, keys)

    def features(self, keys: Sequence[str]) -> np.ndarray:
        """The features (len(keys), D) of photographs that are in the cache."""
        rows_of: dict[Path, list[tuple[int, int]]] = {}
        for place, key in enumerate(keys):
            path, row = self.places[key]
            rows_of.setdefault(path, []).append((place, row))
        found: np.ndarray | None = None
        for path, rows in rows_of.items():
            with np.load(path) as block:
                features = block["features"]
            if found is None:
                found = np.empty((len(keys), features.shape[1]), np.float32)
            found[[place for place, _ in rows]] = features[[row for _, row in rows]]
        assert found is not None
        return found

    def _note(self, path: Path, keys: Sequence[str]) -> None:
        for row, key in enumerate(keys):
            self.places.setdefault(key, (path, row))  # the first features stay
