"""A user's captions, in a table or in the files in which captions of photographs are usually given."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.common.errors import InputError
from pipeline.common.files import read_utf8, reading, require_file
from pipeline.datasets.csv_text import Rows, csv_rows

REQUIRED_COLUMNS = ("image", "caption")
OPTIONAL_COLUMNS = ("language", "split", "origin", "source_language")
MEND = (
    f"Give a CSV file with columns {', '.join(REQUIRED_COLUMNS)} and perhaps {', '.join(OPTIONAL_COLUMNS)}, "
    "Karpathy's or COCO's JSON, or Flickr's results.token."
)

# By the first line of a text: Flickr8k's and Flickr30K's own files, and Flickr30K's on Kaggle. In one line of
# the last the second bar is missing.
_LINES = {
    re.compile(r"\S+#\d+\t"): re.compile(r"(?P<image>[^\t]+)#\d+\t(?P<caption>.*)"),
    re.compile(r"image_name\s*\|"): re.compile(r"(?P<image>[^|]+)\|\s*\d+\s*\|?(?P<caption>.*)"),
}


def caption_rows(path: Path) -> Rows:
    """The captions of a file by column: image, caption and, as far as the file says, `OPTIONAL_COLUMNS`.

    Read are, besides CSV: Karpathy's JSON (dataset_flickr30k.json, with its split; restval is for training),
    COCO's annotations (captions_train2014.json), Flickr's own texts (Flickr8k.token.txt, results.token) and
    Kaggle's table of Flickr30K (results.csv).

    Raises:
        InputError: it is none of these; the message says what was found.
    """
    require_file(path, "the file of captions", MEND)
    if path.suffix.lower() == ".json":
        with reading(path, "captions in Karpathy's or COCO's JSON", MEND):
            rows = list(_rows_of_json(json.loads(read_utf8(path))))
    else:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            first = file.readline()
        pattern = next((line for begin, line in _LINES.items() if begin.match(first)), None)
        if pattern is None:
            return csv_rows(path, "a table of captions", MEND, REQUIRED_COLUMNS, OPTIONAL_COLUMNS)
        rows = _rows_of_lines(path, pattern)
    if not rows:
        raise InputError(f"{path}: it has no captions. {MEND}")
    return rows


def _rows_of_json(content: Any) -> Iterator[dict[str, str]]:
    if "annotations" in content:
        name_of = {image["id"]: image["file_name"] for image in content["images"]}
        for annotation in content["annotations"]:
            yield {"image": name_of[annotation["image_id"]], "caption": annotation["caption"]}
        return
    for image in content["images"]:
        split = image["split"].replace("restval", "train")
        for sentence in image["sentences"]:
            yield {"image": image["filename"], "caption": sentence["raw"], "split": split}


def _rows_of_lines(path: Path, pattern: re.Pattern[str]) -> Rows:
    rows = []
    for number, line in enumerate(read_utf8(path).split("\n"), 1):
        if match := pattern.fullmatch(line.strip()):
            rows.append({key: text.strip() for key, text in match.groupdict().items()})
        elif line.strip() and not line.startswith("image_name"):
            raise InputError(f"{path}: line {number} has no image and caption: {line[:60]!r}")
    return rows
