"""The caption table: one schema for every data set, translation and scale.

| column          | meaning                                                                        |
|-----------------|--------------------------------------------------------------------------------|
| image           | id of the image, without folder or ending                                      |
| split           | train, val or test                                                             |
| language        | ISO 639-1 code                                                                 |
| caption         | the sentence as published                                                      |
| origin          | who wrote it: human, google, baidu, dictionary, ...                            |
| source_language | language it was translated from, by a human or a machine; empty: written independently |
| number          | place among the captions of its image, language, origin and source language, from 0    |

A translation has the number of the caption that it translates, so `image` and `number` join the two. An
exception are Multi30K's French and Czech captions: each translates one of five English captions, unknown
which.

A *sentence table* is a caption table with one more column, `tokens`: the lower-cased tokens of the
caption, joined by single spaces.
"""

from typing import NamedTuple


class Caption(NamedTuple):
    """A row of a caption table without its number, which `caption_table` adds."""

    image: str
    split: str
    language: str
    caption: str
    origin: str = "human"
    source_language: str = ""


COLUMNS = [*Caption._fields, "number"]
SENTENCE_COLUMNS = [*COLUMNS, "tokens"]
SPLITS = ("train", "val", "test")
