"""Flickr8k's photographs: their ids and their published split."""

import re
from pathlib import Path

from pipeline.datasets.published import text_lines
from pipeline.datasets.split import Split

FLICKR8K = "raw.githubusercontent.com/li-xirong/flickr8kcn/a19b9aa4a7ad2a42741460d9f47385637ae270cd/data"
SPLIT_FILES = r"flickr8k(train|val|test)[.]txt"


def image_id(file_name: str) -> str:
    """Id of a Flickr photograph: its file's name up to the first dot or underscore.

    Flickr8k's `1000268201_693b08cb0e.jpg` and Multi30K's `1000268201.jpg` are one photograph.
    """
    return re.split(r"[._]", file_name, maxsplit=1)[0]


def flickr8k_split(folder: Path) -> Split:
    """Flickr8k's split: 6,000 / 1,000 / 1,000 images. `folder`: published files, laid out as HOST/PATH."""
    return {
        image_id(line): name
        for name in ("train", "val", "test")
        for line in text_lines(folder / f"{FLICKR8K}/flickr8k{name}.txt")
    }
