"""Search of photographs and captions with a trained model: in Python, on the command line and on a web page.

from search import load, open_index
model, index = load("model.pt"), open_index("index.h5")
neighbours = model.search(index, sentences=["ein Hund im Schnee"])
"""

from search.index import open_index
from search.model import load

__all__ = ["load", "open_index"]
