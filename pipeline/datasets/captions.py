"""The caption table: one schema for every data set, translation and scale.

| column          | meaning                                                                        |
|-----------------|--------------------------------------------------------------------------------|
| image           | id of the image, without folder or ending                                      |
| split           | train, val or test                                                             |
| language        | ISO 639-1 code                                                                 |
| caption         | the sentence as published                                                      |
| origin          | who wrote it: human, google, baidu, dictionary, ...                            |
| source_language | language it was translated from, by a human or a machine; empty: written independently |

A *sentence table* is a caption table with one more column, `tokens`: the lower-cased tokens of the
caption, joined by single spaces.
"""

from typing import NamedTuple


class Caption(NamedTuple):
    """A row of a caption table."""

    image: str
    split: str
    language: str
    caption: str
    origin: str = "human"
    source_language: str = ""


COLUMNS = list(Caption._fields)
SENTENCE_COLUMNS = [*COLUMNS, "tokens"]
SPLITS = ("train", "val", "test")
