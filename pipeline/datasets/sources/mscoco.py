"""MSCOCO 2014: captions in English (Lin et al. 2014), Japanese and Chinese, and its split.

English: about five captions of each image. Japanese: YJ Captions 26k (Miyazaki and Shimizu 2016), five
captions of some images of train2014. Chinese: COCO-CN (Li et al. 2019), one or two captions of some images
of both parts, and human translations of five English captions of each image of its own test set.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.common.errors import InputError
from pipeline.common.files import reading
from pipeline.datasets.captions import Caption
from pipeline.datasets.published import members, require_language, split_lines
from pipeline.datasets.source import DataOnRequest, Inputs, Source, StageKeys
from pipeline.datasets.split import Split, limit_to_list, predefined_split, whole_split

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


def read_images(inputs: Inputs) -> tuple[list[str], set[str]]:
    """Images of MSCOCO 2014 that have captions, and those with independent captions in all three languages.

    Returns:
        ids such as COCO_train2014_000000000009, the first sorted.

    Raises:
        InputError: a file is missing or cannot be read.
    """
    image_of: dict[int, str] = {}
    for content in _contents(inputs.downloads, "en"):
        image_of |= {image["id"]: image["file_name"].rpartition(".")[0] for image in content["images"]}
    with_captions: set[str] = set()
    independent = []
    for language in LANGUAGES:
        rows = list(_rows(inputs, language, image_of))
        with_captions |= {image for image, _, _, caption in rows if caption}
        independent.append({image for image, source, _, caption in rows if caption and not source})
    return sorted(with_captions), set.intersection(*independent)


def mscoco_captions(keys: StageKeys, inputs: Inputs, language: str, split: Split) -> list[Caption]:
    """Captions of MSCOCO 2014 in a language, in the order of images and of the captions' numbers.

    All captions have the origin human. Chinese translations of English captions have the source language en.
    A line break inside a caption becomes a blank; captions without text are left out and logged. COCO-CN's
    own lists of training, validation and test images are not used. The order in the files does not matter.

    Args:
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: a file is missing or cannot be read.
    """
    require_language(language, LANGUAGES, "MSCOCO")
    image_of = {int(image.rpartition("_")[2]): image for image in split}
    rows = sorted(_rows(inputs, language, image_of))
    captions = [
        Caption(image, split[image], language, caption, "human", source)
        for image, source, _, caption in rows
        if caption
    ]
    if len(captions) < len(rows):
        log.warning("%d of %d captions have no text and are left out", len(rows) - len(captions), len(rows))
    return captions


def _rows(inputs: Inputs, language: str, image_of: Mapping[int, str]) -> Iterator[Row]:
    """Captions of some images in a language, in the order of its files.

    Args:
        image_of: number of an image -> its id.
    """
    if language == "zh":
        if (coco_cn := inputs.on_request) is None:
            raise InputError("mscoco: --requested is missing, the path of COCO-CN.")
        images = set(image_of.values())
        for name, text in members(coco_cn, _CHINESE_FILES).items():
            with reading(coco_cn, f"a folder or archive with {name} in UTF-8", "Get it again."):
                lines = split_lines(text)
            for number, line in enumerate(lines, 1):
                if not (match := _CHINESE_LINE.fullmatch(line)) and line:
                    raise InputError(f"{coco_cn}: {name}, line {number}: cannot be read: {line[:60]!r}.")
                if match and match["image"] in images:
                    caption = " ".join((match["caption"] or "").split())
                    yield match["image"], _CHINESE_FILES[name], int(match["number"]), caption
        return
    for content in _contents(inputs.downloads, language):
        for annotation in content["annotations"]:
            if image := image_of.get(annotation["image_id"]):
                yield image, "", int(annotation["id"]), " ".join(annotation["caption"].split())


def _contents(folder: Path, language: str) -> list[dict[str, Any]]:
    """The files of a language, which have MSCOCO's format: lists `images` and `annotations`."""
    archive, names = _ANNOTATIONS[language]
    contents = members(folder / archive, names)
    with reading(folder / archive, "captions in MSCOCO's format", "Download it again."):
        found = [json.loads(contents[name]) for name in names]
    return found


def _read_split(keys: StageKeys, inputs: Inputs) -> Split:
    from pipeline.datasets.sampling import sampled_split  # imports pandas, which takes a second

    if keys.split:
        return predefined_split(Path(keys.split), inputs.image_list)
    with_captions, in_all = read_images(inputs)
    images = limit_to_list(with_captions, inputs.image_list)
    candidates = in_all & set(images)
    assert keys.sample_size, "the other group of split_keys"
    sample = sampled_split(candidates, keys.sample_size, keys.sample_size, keys.split_seed or 0)
    return whole_split(images, sample)


SOURCE = Source(
    needs=("images", "sample_size", "split_seed"),
    split_keys=(("split",), ("sample_size", "split_seed")),
    downloads=("mscoco", "yjcaptions"),
    caption_files={"en": "annotations", "ja": "yjcaptions"},
    on_request=DataOnRequest("coco_cn", "on-request/coco-cn", "**/imageid.*-caption.txt", ("zh",)),
    read_split=_read_split,
    read_captions=mscoco_captions,
)
