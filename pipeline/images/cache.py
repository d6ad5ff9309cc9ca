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
        rows: the features (D,) of each photograph, by its key.
    """

    def __init__(self, folder: Path, attributes: Mapping[str, object]):
        text = json.dumps(attributes, sort_keys=True, default=str)
        self.folder = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        self.rows: dict[str, np.ndarray] = {}
        for path in sorted(self.folder.glob("*.npz")):
            try:
                with np.load(path) as block:
                    self._keep(block["keys"].tolist(), block["features"])
            except Exception as error:  # what a damaged archive raises depends on the damage
                log.warning("%s: damaged (%s): its photographs are read again", path, error)
                path.unlink()

    def add(self, keys: Sequence[str], features: np.ndarray) -> None:
        """Keep features (len(keys), D) as a block."""
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
        with atomic_write(self.folder / f"{name}.npz") as temporary, open(temporary, "wb") as file:
            np.savez(file, keys=np.array(keys), features=features)
        self._keep(keys, features)

    def _keep(self, keys: Sequence[str], features: np.ndarray) -> None:
        for key, row in zip(keys, features, strict=True):
            self.rows.setdefault(key, row)  # the first features stay
