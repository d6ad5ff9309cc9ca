"""Flickr8k: English, Chinese (Flickr8K-CN, Li et al. 2016) and Japanese captions."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.datasets.captions import Caption
from pipeline.datasets.flickr8k import FLICKR8K, SPLIT_FILES, flickr8k_split, image_id
from pipeline.datasets.published import require_language, text_lines
from pipeline.datasets.source import Source

JAPANESE = (
    "raw.githubusercontent.com/JSALT-Rosetta/flickr/a916b2c9db9c784e62651e236db8066c0f0429d5/"
    "flickr_jp_all.txt"
)

_CHINESE_LINE = re.compile(r"(?P<file>\S+)#\w+#(?P<number>\d+)\s+(?P<caption>.*)")
_JAPANESE_LINE = re.compile(r"\[(?P<file>\S+)#(?P<number>\d+)\]\s+(?P<caption>.*)")


class _Text(NamedTuple):
    path: str
    line: re.Pattern[str]
    language: str
    origin: str
    source_language: str


_TEXTS = [
    _Text(f"{FLICKR8K}/flickr8kenc.caption.txt", _CHINESE_LINE, "en", "human", ""),
    _Text(f"{FLICKR8K}/flickr8kzhc.caption.txt", _CHINESE_LINE, "zh", "human", ""),
    _Text(f"{FLICKR8K}/flickr8kzhmtest.captions.txt", _CHINESE_LINE, "zh", "human", "en"),
    _Text(f"{FLICKR8K}/flickr8kzhg.caption.txt", _CHINESE_LINE, "zh", "google", "en"),
    _Text(f"{FLICKR8K}/flickr8kzhb.caption.txt", _CHINESE_LINE, "zh", "baidu", "en"),
    _Text(JAPANESE, _JAPANESE_LINE, "ja", "google", "en"),
]


def flickr8kcn_captions(folder: Path, language: str, split: Mapping[str, str]) -> list[Caption]:
    """Captions of Flickr8k in a language: En x5, Zh x5 of each origin, Ja x5.

    En and Zh of origin human are independent. Zh of origins google and baidu and Ja of origin google are
    machine translations of the English captions. The test set also has human translations into Zh.

    Args:
        folder: published files, laid out as HOST/PATH.
        split: image -> train, val or test; captions of other images are left out.
    """
    require_language(language, dict.fromkeys(text.language for text in _TEXTS), "Flickr8K-CN")
    texts = [(text, _captions(folder, text)) for text in _TEXTS if text.language == language]
    return [
        Caption(image, name, text.language, caption, text.origin, text.source_language)
        for image, name in split.items()
        for text, captions in texts
        for _, caption in sorted(captions.get(image, {}).items())
    ]


def _captions(folder: Path, text: _Text) -> dict[str, dict[int, str]]:
    """The captions of a text: image -> number -> caption."""
    captions: dict[str, dict[int, str]] = {}
    for line in text_lines(folder / text.path):
        match = text.line.fullmatch(line)
        assert match, line  # its digest is known
        captions.setdefault(image_id(match["file"]), {})[int(match["number"])] = match["caption"]
    return captions


SOURCE = Source(
    needs=("images",),
    downloads=("flickr8kcn", "flickr8k"),
    split_files=SPLIT_FILES,
    caption_files={"en": "flickr8kenc", "zh": "flickr8kzh", "ja": "flickr_jp"},
    human_translations=True,
    flickr_names=True,
    read_split=lambda keys, inputs: flickr8k_split(inputs.downloads),
    read_captions=lambda keys, inputs, language, split: flickr8kcn_captions(
        inputs.downloads, language, split
    ),
)
