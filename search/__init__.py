"""Use of a trained model: embeddings, an index of photographs and sentences, a page to search them.

from search import load, open_index
model = load("bundle")
vectors = model.embed_sentences(["ein Hund im Schnee"], "de")  # (1, e) float32
neighbours = model.search(open_index("index"), sentences=["ein Hund im Schnee"])
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing them takes seconds, and every command imports this package
    from search.index import Index
    from search.model import SearchModel


def load(folder: "str | Path", device: str = "cpu", weights: "str | Path | None" = None) -> "SearchModel":
    """Load a bundle, see `search.model.load`."""
    from search import model

    return model.load(Path(folder), device, None if weights is None else str(weights))


def open_index(folder: "str | Path") -> "Index":
    """Open an index, see `search.index.open_index`."""
    from search import index

    return index.open_index(Path(folder))
