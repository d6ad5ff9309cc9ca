"""Captions of Multi30K (Elliott et al. 2016, 2017; Barrault et al. 2018).

Five English and five German captions of each image were written independently (task 2); one French
and one Czech sentence are translations from English by people (task 1). Lines of a text file are in
the order of its list of images.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from pipeline.datasets.official import INDEPENDENT, MULTI30K, TRANSLATED, task_images
from pipeline.datasets.published import Sources, caption_table, known_language

FOLDER = MULTI30K
_TASKS = {"en": 2, "de": 2, "fr": 1, "cs": 1}
_CAPTIONS_PER_IMAGE = 5  # of task 2

Text = dict[str, str]  # image -> caption


def read_multi30k(folder: Path, language: str, split: Mapping[str, str]) -> pd.DataFrame:
    """Caption table of Multi30K in a language: En and De x5, Fr and Cs x1, all of origin human.

    Args:
        folder: sources, laid out as HOST/PATH.
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: lists every file that is missing, unreadable, or does not fit its list of images.
    """
    sources = Sources(folder)
    task = _TASKS[known_language(language, _TASKS, "Multi30K")]
    rows: list[tuple[str, ...]] = []
    for name in ("train", "val", "test"):
        images = task_images(sources, task, name)
        texts = [_text(sources, path, images) for path in _paths(task, name, language)]
        rows += [
            (image, split[image], language, text[image], "human", "en" if task == 1 else "")
            for image in images
            if image in split
            for text in texts
            if image in text
        ]
    sources.check()
    return caption_table(rows)


def _paths(task: int, split: str, language: str) -> Iterator[str]:
    if task == 1:
        yield f"{FOLDER}/task1/raw/{TRANSLATED[split]}.{language}.gz"
        return
    for number in range(1, _CAPTIONS_PER_IMAGE + 1):
        yield f"{FOLDER}/task2/raw/{INDEPENDENT[split]}.{number}.{language}.gz"


def _text(sources: Sources, path: str, images: list[str]) -> Text:
    lines = sources.lines(path)
    if lines and len(lines) != len(images):
        sources.mistakes.append(f"{path}: found {len(lines)} lines; its list has {len(images)} images")
        return {}
    empty = [number for number, line in enumerate(lines, 1) if not line]
    if empty:
        sources.mistakes.append(f"{path}: {len(empty)} empty lines, first line {empty[0]}")
    return dict(zip(images, lines, strict=False))
