"""Captions with their translations, human and other: what translators learn from and are measured by."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.datasets.sources.multi30k import translated_lines
from pipeline.datasets.table import read_captions

COLUMNS = ["image", "sentence", "source", "target", "caption", "origin", "translation"]


def parallel_captions(multi30k: Path | None, captions: Sequence[Path], split: str) -> pd.DataFrame:
    """A split's captions and their translations, from Multi30K's task 1 or tables; columns COLUMNS."""
    if multi30k is not None:
        return multi30k_translations(multi30k, split)
    if not captions:
        return pd.DataFrame(columns=COLUMNS, dtype="str")
    return translations_in(pd.concat(map(read_captions, captions), ignore_index=True), split)


def multi30k_translations(folder: Path, split: str) -> pd.DataFrame:
    """Multi30K's task 1: an English caption of each image, with human translations into De, Fr and Cs.

    Its German captions are not in the caption table, whose German captions are independent (task 2).

    Args:
        folder: sources, laid out as HOST/PATH.
        split: train, val, or test (the test set of 2016), of the published split.

    Returns:
        a table with the columns COLUMNS.
    """
    images, lines = translated_lines(folder, split)
    rows = [
        (image, image, "en", code, caption, "human", translation)
        for code in lines
        if code != "en"
        for image, caption, translation in zip(images, lines["en"], lines[code], strict=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def translations_in(captions: pd.DataFrame, split: str) -> pd.DataFrame:
    """A split's captions in a caption table with their translations, human and other; columns COLUMNS.

    A translation has the number of the caption that it translates. Not for Multi30K, where French and Czech
    translate any of five.
    """
    rows = captions[captions["split"] == split]
    own = rows[(rows["source_language"] == "") & (rows["origin"] == "human")]
    translations = rows[rows["source_language"] != ""]
    pairs = translations.merge(
        own[["image", "language", "number", "caption"]],
        left_on=["image", "source_language", "number"],
        right_on=["image", "language", "number"],
        suffixes=("_made", "_own"),
    )
    return pd.DataFrame(
        {
            "image": pairs["image"],
            "sentence": pairs["image"] + "#" + pairs["number"].astype(str),
            "source": pairs["source_language"],
            "target": pairs["language_made"],
            "caption": pairs["caption_own"],
            "origin": pairs["origin"],
            "translation": pairs["caption_made"],
        }
    )


def pairs_between(parallel: pd.DataFrame, source: str, target: str) -> pd.DataFrame:
    """Sentences of a language pair with their translations; human translations serve in both directions."""
    forwards = parallel[(parallel["source"] == source) & (parallel["target"] == target)]
    if not forwards.empty:
        return forwards
    back = parallel[
        (parallel["source"] == target) & (parallel["target"] == source) & (parallel["origin"] == "human")
    ]
    return back.rename(columns={"caption": "translation", "translation": "caption"})
