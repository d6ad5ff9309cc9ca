"""Sentences with human translations, as references for a translator."""

from pathlib import Path

import pandas as pd

from pipeline.datasets.published import text_lines
from pipeline.datasets.sources.multi30k import FOLDER

COLUMNS = ["sentence", "source", "target", "caption", "origin", "translation"]
NO_TRANSLATIONS = pd.DataFrame(columns=COLUMNS, dtype="str")

_MULTI30K = ("de", "fr", "cs")  # task 1; test_2016_flickr


def multi30k_translations(folder: Path) -> pd.DataFrame:
    """Multi30K's test set of 2016 (task 1): 1,000 English captions with human translations in De, Fr and Cs.

    Its German captions are not in the caption table, whose German captions are independent (task 2).

    Args:
        folder: sources, laid out as HOST/PATH.
    """
    lines = {
        code: text_lines(folder / f"{FOLDER}/task1/raw/test_2016_flickr.{code}.gz")
        for code in ("en", *_MULTI30K)
    }
    rows = [
        (str(number), "en", code, caption, "human", translation)
        for code in _MULTI30K
        for number, (caption, translation) in enumerate(zip(lines["en"], lines[code], strict=True))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def translations_in(captions: pd.DataFrame) -> pd.DataFrame:
    """The test captions of a caption table with their translations, human and other.

    An image's translations of one origin follow the order of its captions: Flickr8K-CN gives all five
    (zhm, zhg, zhb), the demo the first. Not for Multi30K, where French and Czech translate any of five.
    """
    test = captions[captions["split"] == "test"]
    own = test[(test["source_language"] == "") & (test["origin"] == "human")]
    translations = test[test["source_language"] != ""]
    pairs = translations.merge(
        own[["image", "language", "number", "caption"]],
        left_on=["image", "source_language", "number"],
        right_on=["image", "language", "number"],
        suffixes=("_made", "_own"),
    )
    return pd.DataFrame(
        {
            "sentence": pairs["image"] + "#" + pairs["number"].astype(str),
            "source": pairs["source_language"],
            "target": pairs["language_made"],
            "caption": pairs["caption_own"],
            "origin": pairs["origin"],
            "translation": pairs["caption_made"],
        }
    )
