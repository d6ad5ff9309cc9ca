"""Captions of Multi30K (Elliott et al. 2016, 2017; Barrault et al. 2018).

Five English and five German captions of each image were written independently (task 2); one French
and one Czech sentence are translations from English by people (task 1). Lines of a text file are in
the order of its list of images.
"""

from pathlib import Path

import pandas as pd

from pipeline.captions.flickr8k import official_split
from pipeline.captions.sources import Sources, caption_table
from pipeline.sources.image_ids import image_id

FOLDER = "raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data"
_TRANSLATED = {"train": "train", "val": "val", "test": "test_2016_flickr"}  # names in task 1
_INDEPENDENT = {"train": "train", "val": "val", "test": "test_2016"}  # names in task 2
_CAPTIONS_PER_IMAGE = 5  # of task 2

Text = dict[str, str]  # image -> caption


def read_multi30k(folder: Path, split: str) -> pd.DataFrame:
    """Caption table of Multi30K: En and De x5, Fr and Cs x1, all of origin human.

    Args:
        folder: sources, laid out as HOST/PATH.
        split: "multi30k" for its own split (29,000 / 1,014 / 1,000 images), "flickr8k" for the images
            that are also in Flickr8k, split by Flickr8k's official lists.

    Raises:
        InputError: lists every file that is missing, unreadable, or does not fit its list of images.
    """
    sources = Sources(folder)
    official = official_split(sources) if split == "flickr8k" else None
    rows: list[tuple[str, ...]] = []
    for name in _TRANSLATED:
        images, texts = _texts(sources, name)
        for image in images:
            if official is not None and image not in official:
                continue
            to = name if official is None else official[image]
            rows += [
                (image, to, language, text[image], "human", source)
                for language, source, text in texts
                if image in text
            ]
    sources.check()
    return caption_table(rows)


def _texts(sources: Sources, split: str) -> tuple[list[str], list[tuple[str, str, Text]]]:
    """Images of one split of Multi30K, and (language, source language, captions) of each text file."""
    independent = _images(sources, f"{FOLDER}/task2/image_splits/{_INDEPENDENT[split]}_images.txt")
    translated = _images(sources, f"{FOLDER}/task1/image_splits/{_TRANSLATED[split]}.txt")
    if set(independent) != set(translated):
        sources.mistakes.append(
            f"Multi30K, {split}: tasks 1 and 2 list different images; download both again"
        )
    texts = []
    for language in ("en", "de"):
        for number in range(1, _CAPTIONS_PER_IMAGE + 1):
            path = f"{FOLDER}/task2/raw/{_INDEPENDENT[split]}.{number}.{language}.gz"
            texts.append((language, "", _text(sources, path, independent)))
    for language in ("fr", "cs"):
        path = f"{FOLDER}/task1/raw/{_TRANSLATED[split]}.{language}.gz"
        texts.append((language, "en", _text(sources, path, translated)))
    return independent, texts


def _images(sources: Sources, path: str) -> list[str]:
    images = [image_id(line) for line in sources.lines(path)]
    if len(set(images)) < len(images):
        sources.mistakes.append(f"{path}: names {len(images) - len(set(images))} images more than once")
    return images


def _text(sources: Sources, path: str, images: list[str]) -> Text:
    lines = sources.lines(path)
    if lines and len(lines) != len(images):
        sources.mistakes.append(f"{path}: found {len(lines)} lines; its list has {len(images)} images")
        return {}
    empty = [number for number, line in enumerate(lines, 1) if not line]
    if empty:
        sources.mistakes.append(f"{path}: {len(empty)} empty lines, first line {empty[0]}")
    return dict(zip(images, lines, strict=False))
