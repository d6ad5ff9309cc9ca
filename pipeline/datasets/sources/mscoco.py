"""MSCOCO 2014: captions in English (Lin et al. 2014), Japanese and Chinese, and its split.

English: about five captions of each image. Japanese: YJ Captions 26k (Miyazaki and Shimizu 2016), five
captions of some images of train2014. Chinese: COCO-CN (Li et al. 2019), one or two captions of some images
of both parts, and human translations of five English captions of each image of its own test set.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.common.block import Block, Count, PathText, Seed
from pipeline.common.json_text import json_value
from pipeline.common.text_files import utf8_mistake
from pipeline.datasets.captions import Caption
from pipeline.datasets.published import PublishedFiles, require_language, split_lines
from pipeline.datasets.sample_split import predefined_split, sampled_split
from pipeline.datasets.source import DataOnRequest, Inputs, NoKeys, Source
from pipeline.datasets.split import Split, limit_to_list, whole_split

log = logging.getLogger("pipeline")

ENGLISH = "images.cocodataset.org/annotations/annotations_trainval2014.zip"
JAPANESE = "github.com/yahoojapan/YJCaptions/raw/master/yjcaptions26k.zip"
LANGUAGES = ("en", "ja", "zh")

_ANNOTATIONS = {  # archive, and the files in it that have MSCOCO's format
    "en": (ENGLISH, ("captions_train2014.json", "captions_val2014.json")),
    "ja": (JAPANESE, ("yjcaptions26k_clean.json",)),
}
_CHINESE_FILES = {  # file -> language that its captions were translated from
    "imageid.human-written-caption.txt": "",
    "imageid.manually-translated-caption.txt": "en",
}
# COCO_val2014_000000000042#0<TAB>caption; also with a kind (#zhm#0), a file's ending, or blanks for the tab.
_CHINESE_LINE = re.compile(
    r"(?P<image>[^\s#.]+)(?:\.jpg)?(?:#[a-z]+)?#(?P<number>\d+)(?:\s+(?P<caption>.*))?"
)

Row = tuple[str, str, int, str]  # image, source language, number, caption


class Images(NamedTuple):
    """Sorted images with captions, and the images with independent captions in all three languages."""

    with_captions: list[str]
    in_all: set[str]


def read_images(folder: Path, coco_cn: Path) -> Images:
    """Images of MSCOCO 2014 by their captions in all three languages; ids as COCO_train2014_000000000009.

    Args:
        folder: published files, laid out as HOST/PATH.
        coco_cn: COCO-CN as given by its authors: its folder, or the archive of it.

    Raises:
        InputError: lists every file that is missing or unreadable, and captions of unknown images.
    """
    files = PublishedFiles(folder)
    image_of: dict[int, str] = {}
    english: list[Row] = []
    for name, content in _contents(files, "en"):
        image_of |= _images(files, name, content)
        english += _annotation_rows(files, name, content, image_of, whole=True)
    others = (list(_rows(files, coco_cn, language, image_of, whole=True)) for language in ("ja", "zh"))
    with_captions: set[str] = set()
    independent = []
    for rows in (english, *others):
        with_captions |= {image for image, _, _, caption in rows if caption}
        independent.append({image for image, source, _, caption in rows if caption and not source})
    files.check()
    return Images(sorted(with_captions), set.intersection(*independent))


def mscoco_captions(
    folder: Path, coco_cn: Path | None, language: str, split: Mapping[str, str]
) -> list[Caption]:
    """Captions of MSCOCO 2014 in a language, in the order of images and of the captions' numbers.

    All captions have the origin human. Chinese translations of English captions have the source language en.
    A line break inside a caption becomes a blank; captions without text are left out and logged. COCO-CN's
    own lists of training, validation and test images are not used. The order in the files does not matter.

    Args:
        folder: published files, laid out as HOST/PATH.
        coco_cn: COCO-CN as given by its authors, for Chinese.
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: lists every file that is missing or unreadable.
    """
    files = PublishedFiles(folder)
    image_of = {number: image for image in split if (number := _number(image)) is not None}
    rows = list(_rows(files, coco_cn, require_language(language, LANGUAGES, "MSCOCO"), image_of))
    files.check()
    rows.sort()
    captions = [
        Caption(image, split[image], language, caption, "human", source)
        for image, source, _, caption in rows
        if caption
    ]
    if len(captions) < len(rows):
        log.warning("%d of %d captions have no text and are left out", len(rows) - len(captions), len(rows))
    return captions


def _rows(
    files: PublishedFiles,
    coco_cn: Path | None,
    language: str,
    image_of: Mapping[int, str],
    whole: bool = False,
) -> Iterator[Row]:
    """Captions in a language, in the order of its files.

    Args:
        image_of: number of an image -> its id. whole: whether these are all images, so that any other number
            is a mistake.
    """
    if language != "zh":
        for name, content in _contents(files, language):
            yield from _annotation_rows(files, name, content, image_of, whole)
    elif coco_cn is not None:
        names = set(image_of.values())
        for name, text in files.members(coco_cn, _CHINESE_FILES).items():
            yield from _chinese_rows(files, name, text, names, whole)


def _contents(files: PublishedFiles, language: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and content of a language's files in MSCOCO's format."""
    archive, names = _ANNOTATIONS[language]
    contents = files.members(files.folder / archive, names)
    for name in names:
        yield name, _json_content(files, name, contents.pop(name, None))


def _json_content(files: PublishedFiles, name: str, content: bytes | None) -> dict[str, Any]:
    """A JSON file in MSCOCO's format, or {} if it is missing or wrong."""
    if content is None:
        return {}
    try:
        value = json_value(content)
    except ValueError as error:
        files.mistakes.append(f"{name}: not JSON: {error}; download it again")
        return {}
    if not isinstance(value, dict) or not isinstance(value.get("annotations"), list):
        files.mistakes.append(f"{name}: has no list `annotations`; expected MSCOCO's caption format")
        return {}
    return value


def _images(files: PublishedFiles, name: str, content: dict[str, Any]) -> dict[int, str]:
    """MSCOCO's integer id of each image -> its file's name without ending, which ends in that number."""
    try:
        names = {image["id"]: image["file_name"].rpartition(".")[0] for image in content.get("images", [])}
    except (TypeError, KeyError, AttributeError) as error:
        files.mistakes.append(f"{name}: some of its `images` lack an id or a file_name: {error!r}")
        return {}
    other = [f"{number} ({image})" for number, image in names.items() if _number(image) != number]
    if other:
        files.mistakes.append(
            f"{name}: {len(other)} images' files are not named by their ids, first {other[0]}"
        )
    return names


def _number(image: str) -> int | None:
    number = image.rpartition("_")[2]
    return int(number) if number.isdecimal() else None


def _annotation_rows(
    files: PublishedFiles, name: str, content: dict[str, Any], image_of: Mapping[int, str], whole: bool
) -> Iterator[Row]:
    wrong = []
    for annotation in content.get("annotations", []):
        try:
            image = image_of.get(annotation["image_id"])
            row = "", int(annotation["id"]), " ".join(annotation["caption"].split())
        except (TypeError, KeyError, ValueError, AttributeError):
            wrong.append(annotation)
            continue
        if image is not None:
            yield image, *row
        elif whole:
            wrong.append(annotation)
    if wrong and image_of:
        files.mistakes.append(
            f"{name}: {len(wrong)} captions lack an id, a caption or the image_id of a known image, "
            f"first {str(wrong[0])[:120]}"
        )


def _chinese_rows(
    files: PublishedFiles, name: str, content: bytes, images: set[str], whole: bool
) -> Iterator[Row]:
    try:
        lines = split_lines(content)
    except UnicodeDecodeError as error:
        files.mistakes.append(f"{name}: {utf8_mistake(error)}")
        return
    unread, unknown = [], []
    for number, line in enumerate(lines, 1):
        match = _CHINESE_LINE.fullmatch(line)
        if match is None and line:
            unread.append(f"line {number}: {line[:60]!r}")
        elif match and match["image"] in images:
            caption = " ".join((match["caption"] or "").split())
            yield match["image"], _CHINESE_FILES[name], int(match["number"]), caption
        elif match and images and whole:
            unknown.append(f"line {number}: {match['image']}")
    if unread:
        files.mistakes.append(f"{name}: {len(unread)} lines cannot be read, first {unread[0]}")
    if unknown:
        files.mistakes.append(
            f"{name}: {len(unknown)} lines name images that are not in MSCOCO 2014, first {unknown[0]}"
        )


class PredefinedSplit(Block):
    """Lists of the test and validation images."""

    test_images: PathText
    val_images: PathText


class SampledSplit(Block):
    """Number of test images, and of validation images, sampled from those captioned in all languages."""

    sample_size: Count
    split_seed: Seed = 0


def _read_split(settings: PredefinedSplit | SampledSplit, inputs: Inputs) -> Split:
    assert inputs.on_request is not None, "the stage asks for it"
    captioned_images = read_images(inputs.downloads, inputs.on_request)
    images = limit_to_list(captioned_images.with_captions, inputs.image_list)
    candidates = captioned_images.in_all & set(images)
    if isinstance(settings, PredefinedSplit):
        lists = {"test": Path(settings.test_images), "val": Path(settings.val_images)}
        return whole_split(images, predefined_split(lists, candidates))
    size = settings.sample_size
    return whole_split(images, sampled_split(candidates, size, size, settings.split_seed))


def _read_captions(settings: NoKeys, inputs: Inputs, language: str, split: Split) -> list[Caption]:
    return mscoco_captions(inputs.downloads, inputs.on_request, language, split)


SOURCE: Source[PredefinedSplit | SampledSplit, NoKeys, NoKeys] = Source(
    split_settings=(PredefinedSplit, SampledSplit),
    caption_settings=NoKeys,
    part_settings=NoKeys,
    needs=("images", "sample_size", "split_seed"),
    downloads=("mscoco", "yjcaptions"),
    caption_files={"en": "annotations", "ja": "yjcaptions"},
    on_request=DataOnRequest("coco_cn", "on-request/coco-cn", "**/imageid.*-caption.txt", ("zh",)),
    read_split=_read_split,
    read_captions=_read_captions,
)
