"""Captions of Flickr8k: English, Chinese (Flickr8K-CN, Li et al. 2016) and Japanese."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pipeline.datasets.image_ids import image_id
from pipeline.datasets.official import FLICKR8K
from pipeline.datasets.published import Sources, caption_table, known_language

FOLDER = FLICKR8K
JAPANESE = (
    "raw.githubusercontent.com/JSALT-Rosetta/flickr/a916b2c9db9c784e62651e236db8066c0f0429d5/"
    "flickr_jp_all.txt"
)
_CAPTIONS_PER_IMAGE = 5

_CHINESE_LINE = re.compile(r"(?P<file>\S+)#(?P<kind>\w+)#(?P<number>\d+)\s+(?P<caption>.*)")
_JAPANESE_LINE = re.compile(r"\[(?P<file>\S+)#(?P<number>\d+)\]\s+(?P<caption>.*)")


class _Text(NamedTuple):
    path: str
    line: re.Pattern[str]
    kind: str  # as written in the lines; "" where they carry none
    language: str
    origin: str
    source_language: str
    splits: tuple[str, ...] = ("train", "val", "test")


_TEXTS = [
    _Text(f"{FOLDER}/flickr8kenc.caption.txt", _CHINESE_LINE, "enc", "en", "human", ""),
    _Text(f"{FOLDER}/flickr8kzhc.caption.txt", _CHINESE_LINE, "zhc", "zh", "human", ""),
    _Text(f"{FOLDER}/flickr8kzhmtest.captions.txt", _CHINESE_LINE, "zhm", "zh", "human", "en", ("test",)),
    _Text(f"{FOLDER}/flickr8kzhg.caption.txt", _CHINESE_LINE, "zhg", "zh", "google", "en"),
    _Text(f"{FOLDER}/flickr8kzhb.caption.txt", _CHINESE_LINE, "zhb", "zh", "baidu", "en"),
    _Text(JAPANESE, _JAPANESE_LINE, "", "ja", "google", "en"),
]

Captions = dict[str, dict[int, str]]  # image -> number -> caption


def read_flickr8kcn(folder: Path, language: str, split: Mapping[str, str]) -> pd.DataFrame:
    """Caption table of Flickr8k in a language: En x5, Zh x5 of each origin, Ja x5.

    En and Zh of origin human are independent; Zh of origins google and baidu and Ja of origin google
    are machine translations of the English captions; the test set has human translations into Zh too.

    Args:
        folder: sources, laid out as HOST/PATH.
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: lists every missing file, line that cannot be read, and image without its captions.
    """
    sources = Sources(folder)
    known_language(language, dict.fromkeys(text.language for text in _TEXTS), "Flickr8K-CN")
    texts = [text for text in _TEXTS if text.language == language]
    captions = [(text, _captions(sources, text, split)) for text in texts]
    sources.check()
    return caption_table(
        [
            (image, name, text.language, by_number[number], text.origin, text.source_language)
            for image, name in split.items()
            for text, of_image in captions
            if (by_number := of_image.get(image))
            for number in sorted(by_number)
        ]
    )


def _captions(sources: Sources, text: _Text, split: Mapping[str, str]) -> Captions:
    captions: Captions = {image: {} for image, name in split.items() if name in text.splits}
    lines = sources.lines(text.path)
    for number, line in enumerate(lines, 1):
        match = text.line.fullmatch(line)
        if match is None or match.groupdict().get("kind", "") != text.kind:
            sources.mistakes.append(f"{text.path}: line {number}: cannot be read: {line[:60]!r}")
            continue
        of_image = captions.get(image_id(match["file"]), {})  # images outside the split are not kept
        if int(match["number"]) in of_image:
            sources.mistakes.append(f"{text.path}: line {number}: caption {match['number']} a second time")
        of_image[int(match["number"])] = match["caption"]
    fewer = [image for image, found in captions.items() if len(found) != _CAPTIONS_PER_IMAGE]
    if lines and fewer:
        sources.mistakes.append(
            f"{text.path}: {len(fewer)} images of the split have not "
            f"{_CAPTIONS_PER_IMAGE} captions, first {fewer[0]} ({len(captions[fewer[0]])})"
        )
    return captions
