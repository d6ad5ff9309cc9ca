"""The page's first screen: the kind of images in an index, some of them, and queries to try."""

import random
import re

from pipeline.datasets.split import image_name
from search.index import Index
from search.model import SearchModel

IMAGES = 12  # fills rows of 3, 4 and 6
QUERIES = 2  # in each language
CANDIDATES = 20  # captions of a language among which its queries are chosen
LONG = 60  # characters


def kind_of_images(model: SearchModel, index: Index) -> str:
    """`scenes` for the demo's drawings, `images` if there are only features of them, else `photographs`."""
    settings = model.bundle.record.settings
    scene = re.compile(rf"{re.escape(settings.dataset)}-\d{{4,}}")
    if settings.scale == "demo" and all(scene.fullmatch(image_name(image)) for image in index.images):
        return "scenes"
    return "photographs" if any(index.files) else "images"


def example_images(index: Index, draw: random.Random) -> list[int]:
    """Rows of random images; images with a file if there are any."""
    rows = index.rows_with_file or range(len(index.images))
    return draw.sample(rows, min(IMAGES, len(rows)))


def example_queries(model: SearchModel, index: Index, draw: random.Random) -> list[int]:
    """Rows of random captions to search with, a few in each of the model's languages.

    Captions whose words the model knows are preferred, and short ones. A caption is left out if another
    language would be detected for it.
    """
    queries = []
    for language in model.languages:
        rows = index.sentences_in.get(language, [])
        num_unknown = {}  # unknown words by row
        for row in draw.sample(rows, min(CANDIDATES, len(rows))):
            sentence = model.parse(index.sentences[row][2]).sentence
            if sentence.language == language and sentence.known_words:
                num_unknown[row] = len(sentence.unknown)
        texts = {index.sentences[row][2]: row for row in num_unknown}  # two captions may be the same
        best = sorted(texts, key=lambda text: (num_unknown[texts[text]], len(text) > LONG))[:QUERIES]
        queries += [texts[text] for text in best]
    return queries
