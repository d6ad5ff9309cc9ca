"""Captions of MSCOCO 2014 in English (Lin et al. 2014), Japanese and Chinese.

English: about five captions of each image. Japanese: YJ Captions 26k (Miyazaki and Shimizu 2016), five
captions of some images of train2014. Chinese: COCO-CN (Li et al. 2019), one or two captions of some images
of both parts, and human translations of five English captions of each image of its own test set.
"""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.captions.sources import Sources, caption_table, split_lines

log = logging.getLogger("pipeline")

ENGLISH = "images.cocodataset.org/annotations/annotations_trainval2014.zip"
JAPANESE = "github.com/yahoojapan/YJCaptions/raw/master/yjcaptions26k.zip"
LANGUAGES = ("en", "ja", "zh")

_ENGLISH_FILES = ("captions_train2014.json", "captions_val2014.json")
_JAPANESE_FILE = "yjcaptions26k_clean.json"
_CHINESE_FILES = {  # file -> language that its captions were translated from
    "imageid.human-written-caption.txt": "",
    "imageid.manually-translated-caption.txt": "en",
}
# COCO_val2014_000000000042#0<TAB>caption; also with a kind (#zhm#0), a file's ending, or blanks for the tab.
_CHINESE_LINE = re.compile(
    r"(?P<image>[^\s#.]+)(?:\.jpg)?(?:#[a-z]+)?#(?P<number>\d+)(?:\s+(?P<caption>.*))?"
)

Row = tuple[str, str, str, int, str]  # image, language, source language, number, caption


def read_mscoco(folder: Path, coco_cn: Path) -> pd.DataFrame:
    """Caption table of MSCOCO 2014, every image for training; ids as COCO_train2014_000000000009.

    All captions are of origin human; the Chinese translations of English ones have the source language en.
    A line break inside a caption becomes a blank; captions without text are left out and logged. COCO-CN's
    own lists of training, validation and test images are not used. The order in the files does not matter.

    Args:
        folder: sources, laid out as HOST/PATH.
        coco_cn: COCO-CN as given by its authors: its folder, or the archive of it.

    Raises:
        InputError: lists every file that is missing or unreadable, and captions of unknown images.
    """
    sources = Sources(folder)
    image_of: dict[int, str] = {}
    english = sources.members(folder / ENGLISH, _ENGLISH_FILES)
    rows: list[Row] = []
    for name in _ENGLISH_FILES:
        content = _parsed(sources, name, english.pop(name, None))
        image_of |= _images(sources, name, content)
        rows += _annotated(sources, name, content, image_of, "en")
    japanese = sources.members(folder / JAPANESE, [_JAPANESE_FILE]).get(_JAPANESE_FILE)
    rows += _annotated(sources, _JAPANESE_FILE, _parsed(sources, _JAPANESE_FILE, japanese), image_of, "ja")
    known = set(image_of.values())
    for name, text in sources.members(coco_cn, _CHINESE_FILES).items():
        rows += _chinese(sources, name, text, known)
    sources.check()
    return _table(rows)


def captioned_in_all(captions: pd.DataFrame) -> set[str]:
    """Images with captions that were written anew in English, Japanese and Chinese."""
    anew = captions[captions["source_language"] == ""]
    return set.intersection(*(set(anew["image"][anew["language"] == language]) for language in LANGUAGES))


def _parsed(sources: Sources, name: str, content: bytes | None) -> dict[str, Any]:
    """A JSON file in MSCOCO's format; empty where it is missing or wrong."""
    if content is None:
        return {}
    try:
        parsed = json.loads(content)
    except ValueError as error:
        sources.mistakes.append(f"{name}: not JSON: {error}; download it again")
        return {}
    if not isinstance(parsed, dict) or not isinstance(parsed.get("annotations"), list):
        sources.mistakes.append(f"{name}: has no list `annotations`; expected MSCOCO's caption format")
        return {}
    return parsed


def _images(sources: Sources, name: str, content: dict[str, Any]) -> dict[int, str]:
    """MSCOCO's integer id of each image -> its file's name without ending."""
    try:
        return {image["id"]: image["file_name"].rpartition(".")[0] for image in content.get("images", [])}
    except (TypeError, KeyError, AttributeError) as error:
        sources.mistakes.append(f"{name}: `images` have not all an id and a file_name: {error!r}")
        return {}


def _annotated(
    sources: Sources, name: str, content: dict[str, Any], image_of: dict[int, str], language: str
) -> Iterator[Row]:
    wrong = []
    for annotation in content.get("annotations", []):
        try:
            image = image_of[annotation["image_id"]]
            yield image, language, "", int(annotation["id"]), " ".join(annotation["caption"].split())
        except (TypeError, KeyError, ValueError, AttributeError):
            wrong.append(annotation)
    if wrong and image_of:
        sources.mistakes.append(
            f"{name}: {len(wrong)} captions have not id, caption and image_id of a known image, "
            f"first {str(wrong[0])[:120]}"
        )


def _chinese(sources: Sources, name: str, content: bytes, images: set[str]) -> Iterator[Row]:
    try:
        lines = split_lines(content)
    except UnicodeDecodeError as error:
        sources.mistakes.append(f"{name}: not UTF-8: {error}")
        return
    unread, unknown = [], []
    for number, line in enumerate(lines, 1):
        match = _CHINESE_LINE.fullmatch(line)
        if match is None and line:
            unread.append(f"line {number}: {line[:60]!r}")
        elif match and match["image"] in images:
            caption = " ".join((match["caption"] or "").split())
            yield match["image"], "zh", _CHINESE_FILES[name], int(match["number"]), caption
        elif match and images:
            unknown.append(f"line {number}: {match['image']}")
    if unread:
        sources.mistakes.append(f"{name}: {len(unread)} lines cannot be read, first {unread[0]}")
    if unknown:
        sources.mistakes.append(f"{name}: {len(unknown)} lines are not of MSCOCO 2014, first {unknown[0]}")


def _table(rows: list[Row]) -> pd.DataFrame:
    """Rows in the order of images, languages and the captions' numbers."""
    rows.sort()
    written = [
        (image, "train", language, caption, "human", source)
        for image, language, source, _, caption in rows
        if caption
    ]
    if len(written) < len(rows):
        log.warning("%d of %d captions have no text and are left out", len(rows) - len(written), len(rows))
    return caption_table(written)
