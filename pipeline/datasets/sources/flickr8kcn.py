"""Flickr8k: English, Chinese (Flickr8K-CN, Li et al. 2016) and Japanese captions."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.datasets.captions import Caption
from pipeline.datasets.flickr8k import FLICKR8K, SPLIT_FILES, flickr8k_split, image_id
from pipeline.datasets.published import PublishedFiles, require_language
from pipeline.datasets.source import Inputs, NoKeys, Source
from pipeline.datasets.split import Split, limit_to_list

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
    kind: str  # as written in the file's lines; "" if the lines have none
    language: str
    origin: str
    source_language: str
    splits: tuple[str, ...] = ("train", "val", "test")


_TEXTS = [
    _Text(f"{FLICKR8K}/flickr8kenc.caption.txt", _CHINESE_LINE, "enc", "en", "human", ""),
    _Text(f"{FLICKR8K}/flickr8kzhc.caption.txt", _CHINESE_LINE, "zhc", "zh", "human", ""),
    _Text(f"{FLICKR8K}/flickr8kzhmtest.captions.txt", _CHINESE_LINE, "zhm", "zh", "human", "en", ("test",)),
    _Text(f"{FLICKR8K}/flickr8kzhg.caption.txt", _CHINESE_LINE, "zhg", "zh", "google", "en"),
    _Text(f"{FLICKR8K}/flickr8kzhb.caption.txt", _CHINESE_LINE, "zhb", "zh", "baidu", "en"),
    _Text(JAPANESE, _JAPANESE_LINE, "", "ja", "google", "en"),
]

_Captions = dict[str, dict[int, str]]  # image -> number -> caption


def flickr8kcn_captions(folder: Path, language: str, split: Mapping[str, str]) -> list[Caption]:
    """Captions of Flickr8k in a language: En x5, Zh x5 of each origin, Ja x5.

    En and Zh of origin human are independent. Zh of origins google and baidu and Ja of origin google are
    machine translations of the English captions. The test set also has human translations into Zh.

    Args:
        folder: published files, laid out as HOST/PATH.
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: lists every missing file, line that cannot be read, and image without its captions.
    """
    files = PublishedFiles(folder)
    require_language(language, dict.fromkeys(text.language for text in _TEXTS), "Flickr8K-CN")
    texts = [text for text in _TEXTS if text.language == language]
    captions = [(text, _captions(files, text, split)) for text in texts]
    files.check()
    return [
        Caption(image, name, text.language, by_number[number], text.origin, text.source_language)
        for image, name in split.items()
        for text, of_image in captions
        if (by_number := of_image.get(image))
        for number in sorted(by_number)
    ]


def _captions(files: PublishedFiles, text: _Text, split: Mapping[str, str]) -> _Captions:
    captions: _Captions = {image: {} for image, name in split.items() if name in text.splits}
    lines = files.lines(text.path)
    for number, line in enumerate(lines, 1):
        match = text.line.fullmatch(line)
        if match is None or match.groupdict().get("kind", "") != text.kind:
            files.mistakes.append(f"{text.path}: line {number}: cannot be read: {line[:60]!r}")
            continue
        of_image = captions.get(image_id(match["file"]), {})  # images outside the split are not kept
        if int(match["number"]) in of_image:
            files.mistakes.append(f"{text.path}: line {number}: caption {match['number']} is repeated")
        of_image[int(match["number"])] = match["caption"]
    fewer = [image for image, texts in captions.items() if len(texts) != _CAPTIONS_PER_IMAGE]
    if lines and fewer:
        files.mistakes.append(
            f"{text.path}: {len(fewer)} images of the split do not have {_CAPTIONS_PER_IMAGE} captions, "
            f"first {fewer[0]} ({len(captions[fewer[0]])})"
        )
    return captions


def _read_split(settings: NoKeys, inputs: Inputs) -> Split:
    files = PublishedFiles(inputs.downloads)
    split = flickr8k_split(files)
    files.check()
    return {image: split[image] for image in limit_to_list(split, inputs.image_list)}


def _read_captions(settings: NoKeys, inputs: Inputs, language: str, split: Split) -> list[Caption]:
    return flickr8kcn_captions(inputs.downloads, language, split)


SOURCE = Source(
    split_settings=(NoKeys,),
    caption_settings=NoKeys,
    part_settings=NoKeys,
    needs=("images",),
    downloads=("flickr8kcn", "flickr8k"),
    split_files=SPLIT_FILES,
    caption_files={"en": "flickr8kenc", "zh": "flickr8kzh", "ja": "flickr_jp"},
    human_translations=True,
    flickr_names=True,
    read_split=_read_split,
    read_captions=_read_captions,
)
