"""Ids of photographs, as the captions name them."""

import re


def image_id(file_name: str) -> str:
    """Id of a Flickr photograph: its file's name up to the first dot or underscore.

    Flickr8k's `1000268201_693b08cb0e.jpg` and Multi30K's `1000268201.jpg` are one photograph.
    """
    return re.split(r"[._]", file_name, maxsplit=1)[0]
