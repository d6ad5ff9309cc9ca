"""The candidates of a language: every model has the same, whichever other languages it reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Gallery:
    """The images that are queries and candidates of a language's sentences.

    rows: (n,) rows of these images among the corpus' images, ascending.
    image_of: (B,) place of each sentence's image among the n.
    """

    rows: NDArray[np.int64]
    image_of: NDArray[np.int64]


def gallery_of(image: NDArray[np.int64]) -> Gallery:
    """The images with at least one caption in a language.

    The corpus of a multilingual model also has images that are captioned only in its other languages. The
    corpus of a monolingual model does not, so they are candidates for neither.

    Args:
        image: (B,) for each sentence of the language, the row of its image among the corpus' images.
    """
    rows, image_of = np.unique(image, return_inverse=True)
    return Gallery(rows, image_of)
