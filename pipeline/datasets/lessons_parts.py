"""The translation part and the comparable part of a data set, as *Lessons* uses them (Section 4).

Of Multi30K the published text is read that is lower-cased, normalised and tokenised (`lc.norm.tok`),
punctuation included: one caption of each image in En, De, Fr and Cs that are translations of one another
(task 1), and five independent ones in En and De (task 2).
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.datasets.official import INDEPENDENT, MULTI30K, TRANSLATED, task_images
from pipeline.datasets.published import Sources
from pipeline.datasets.table import SENTENCE_COLUMNS

TRANSLATION, COMPARABLE = "translation", "comparable"
PUBLISHED = {TRANSLATION: ("en", "de", "fr", "cs"), COMPARABLE: ("en", "de")}  # of Multi30K
CAPTIONS_OF_COMPARABLE = 5


def published_part(folder: Path, part: str, language: str, split: Mapping[str, str]) -> pd.DataFrame:
    """Sentence table of a part of Multi30K in a language; other than translations, without source language.

    Args:
        folder: sources, laid out as HOST/PATH. part: `translation` or `comparable`.
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: the part has no captions in the language, or lists every file that is missing, unreadable,
            or does not fit its list of images.
    """
    if language not in PUBLISHED[part]:
        raise InputError(no_part(part, language, PUBLISHED[part]))
    sources = Sources(folder)
    task, number_of_texts = (1, 1) if part == TRANSLATION else (2, CAPTIONS_OF_COMPARABLE)
    rows = []
    for name in ("train", "val", "test"):
        images = task_images(sources, task, name)
        texts = [
            _lines(sources, _path(part, name, language, text + 1), images) for text in range(number_of_texts)
        ]
        source = "en" if part == TRANSLATION and language != "en" else ""
        rows += [
            (image, split[image], language, said, "human", source, said)
            for place, image in enumerate(images)
            if image in split
            for said in (text[place] for text in texts if text)
        ]
    sources.check()
    return pd.DataFrame(rows, columns=SENTENCE_COLUMNS, dtype="str")


def part_of(sentences: pd.DataFrame, part: str, language: str, origin: str = "human") -> pd.DataFrame:
    """The part of any other data set: own captions that people translated, or wrote independently.

    Args:
        sentences: sentence table of one language. origin: who or what wrote its own captions.

    Raises:
        InputError: there are no such captions.
    """
    own = sentences[sentences["origin"] == origin]
    translated = own["source_language"] != ""
    chosen = own[translated if part == TRANSLATION else ~translated]
    if chosen.empty:
        raise InputError(no_part(part, language, []))
    return chosen


def no_part(part: str, language: str, has: tuple[str, ...] | list[str]) -> str:
    """The message for a language in which a part has no captions."""
    known = f"; it has {', '.join(has)}" if has else ""
    return (
        f"The {part} part has no captions in {language!r}{known}. Take the language out of the experiment, "
        "or name another part in its selection."
    )


def _path(part: str, split: str, language: str, number: int) -> str:
    if part == TRANSLATION:
        return f"{MULTI30K}/task1/tok/{TRANSLATED[split]}.lc.norm.tok.{language}"
    return f"{MULTI30K}/task2/tok/{INDEPENDENT[split]}.lc.norm.tok.{number}.{language}"


def _lines(sources: Sources, path: str, images: list[str]) -> list[str]:
    """A text's lines in the order of its images; none, and a mistake noted, where they do not fit."""
    lines = [" ".join(line.split()) for line in sources.lines(path)]
    if lines and len(lines) != len(images):
        sources.mistakes.append(f"{path}: found {len(lines)} lines; its list has {len(images)} images")
        return []
    empty = [number for number, line in enumerate(lines, 1) if not line]
    if empty:
        sources.mistakes.append(f"{path}: {len(empty)} empty lines, first line {empty[0]}")
    return lines
