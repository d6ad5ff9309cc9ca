"""Captions of your own: one CSV file with a row for each caption."""

import csv
import io
import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.common.block import Block, PathText, Seed
from pipeline.common.characters import is_visible, unseen_in
from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.captions import SPLITS, Caption
from pipeline.datasets.csv_text import SPOILT, csv_text, is_spoilt, quotation_mistake, separator_mistake
from pipeline.datasets.damaged_text import mended_text
from pipeline.datasets.languages import unknown_code, without_tokenizer
from pipeline.datasets.published import require_language
from pipeline.datasets.sample_split import sampled_split
from pipeline.datasets.source import Inputs, NoKeys, Source, Terms
from pipeline.datasets.split import Split, image_name, limit_to_list, read_split, whole_split

log = logging.getLogger("pipeline")

REQUIRED_COLUMNS = ("image", "language", "caption")
OPTIONAL_COLUMNS = ("split", "origin", "source_language")

_CODE = re.compile(r"[a-z]{2}")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_MAX_SHOWN = 10  # line numbers of one kind of mistake

Row = dict[str, str]


def read_own(path: Path) -> tuple[list[Caption], bool]:
    """Captions of a CSV file (UTF-8), and whether it has a split; if not, all rows are train.

    Columns: `image` (an id or a file's name: photos/a.jpg is the image a), `language` (ISO 639-1) and
    `caption`. Optional are `split` (train, val, test), `origin` (default: human) and `source_language`.
    White space around and line breaks inside a field become single blanks, but not in the name of a file;
    captions over several lines are counted in a warning.

    Raises:
        InputError: lists every mistake with the numbers of its lines.
    """
    mend = f"Give a CSV file with columns {', '.join(REQUIRED_COLUMNS)}."
    text = csv_text(path, "the table of captions", mend, with_nul=True)
    mistakes: dict[str, list[int]] = defaultdict(list)
    rows: list[Row] = []
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    read = 0  # the last line of the last complete row
    try:
        columns = list(reader.fieldnames or [])
        read = reader.line_num
        raise_together(_column_mistakes(columns), f"{path}: not a table of captions:")
        for row in _rows(reader, mistakes):
            rows.append(row)
            read = reader.line_num
    except csv.Error as error:
        raise InputError(quotation_mistake(path, read + 1, error)) from None
    if not rows and not any(mistakes.values()):
        mistakes["it has a header but no captions; expected at least one row"] = []
    raise_together(map(_message, mistakes.items()), f"{path}: not a table of captions:")
    if several := sum(row["lines"] != "1" for row in rows):
        log.warning("%s: %d captions span several lines; each is read as one line", path, several)
    return [Caption(*(row[column] for column in Caption._fields)) for row in rows], "split" in columns


def own_split(path: Path, seed: int, image_list: Path | None = None) -> Split:
    """The split of a table's images: from its column `split`, or with a tenth each sampled for val and test.

    Raises:
        InputError: as `read_own`, `limit_to_list` and `tenths`.
    """
    captions, has_split = read_own(path)
    split = {caption.image: caption.split for caption in captions}
    images = limit_to_list(split, image_list)
    return whole_split(images, split if has_split else tenths(set(images), seed))


def own_predefined(path: Path, image_list: Path | None = None) -> Split:
    """The split of a user's file, whose images are named as in a table of captions: `a.jpg` is the image a.

    Raises:
        InputError: as `read_split` and `limit_to_list`, if two names refer to one image, or a split is empty.
    """
    split_of_names = read_split(path)
    split = {image_name(image): name for image, name in split_of_names.items()}
    mistakes = [f"no image is in the split {name}" for name in SPLITS if name not in split.values()]
    if len(split) < len(split_of_names):
        mistakes.append(f"{len(split_of_names) - len(split)} images are in it under more than one name")
    mistakes += [f"image {name!r}, {SPOILT}" for name in split_of_names if is_spoilt(name)]
    raise_together(mistakes, f"{path}: not a split of images:")
    return {image: split[image] for image in limit_to_list(split, image_list)}


def own_captions_in(path: Path, language: str, split: Mapping[str, str]) -> list[Caption]:
    """A table's captions in one language of the images of a split.

    Raises:
        InputError: as `read_own`, or there are none in the language, or of the split's images.
    """
    captions, _ = read_own(path)
    require_language(language, sorted({caption.language for caption in captions}), str(path))
    of_language = [caption for caption in captions if caption.language == language]
    of_split = [
        caption._replace(split=split[caption.image]) for caption in of_language if caption.image in split
    ]
    if not of_split:
        raise InputError(
            f"{path}: none of its images with captions in {language!r}, such as "
            f"{of_language[0].image!r}, is in the split, which has images such as "
            f"{next(iter(split), 'none')!r}. Give the split of these images."
        )
    return of_split


def tenths(images: set[str], seed: int) -> Split:
    """Draw a tenth of the images for testing and a tenth for validation, at least one of each."""
    if len(images) < 3:
        raise InputError(
            f"There are {len(images)} images; three are needed to train, validate and test. Give more."
        )
    tenth = max(1, round(len(images) / 10))
    log.info(
        "no column `split`: %d test and %d validation images of %d are sampled with seed %d",
        tenth, tenth, len(images), seed,
    )  # fmt: skip
    return sampled_split(images, tenth, tenth, seed)


def _column_mistakes(columns: list[str]) -> list[str]:
    names = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
    if other := separator_mistake(columns):
        return [other]
    return [
        *(
            f"column {name!r} is missing; found {', '.join(columns) or 'an empty first line'}"
            for name in REQUIRED_COLUMNS
            if name not in columns
        ),
        *(
            f"column {name!r} is unknown; take it out or rename it, known are {', '.join(names)}"
            for name in columns
            if name not in names
        ),
        *(f"column {name!r} comes twice" for name in names if columns.count(name) > 1),
    ]


def _rows(reader: "csv.DictReader[str]", mistakes: dict[str, list[int]]) -> Iterator[Row]:
    """Rows in the columns of a caption table; mistakes are noted with the lines that they begin in."""
    file_of: dict[str, str] = {}
    split_of: dict[str, str] = {}
    for read in reader:
        if None in read or None in read.values():
            breaks = len(_LINE_BREAK.findall("".join(map(str, read.values()))))
            what = f"not the {len(reader.fieldnames or [])} fields of the header"
            mistakes[what].append(reader.line_num - breaks)
            continue
        values = {column: " ".join(value.split()) for column, value in read.items()}
        values["image"] = read["image"].strip()  # `a  b.jpg` is another file than `a b.jpg`
        row = {"split": "train", "origin": "human", "source_language": "", **values}
        row["image"] = image_name(values["image"])
        row["lines"] = str(len(_LINE_BREAK.split(read["caption"].strip())))
        mistakes_of_row = [*_field_mistakes(row), *_raw_mistakes(read)]
        name = unicodedata.normalize("NFC", row["image"])
        if file_of.setdefault(name, values["image"]) != values["image"]:
            mistakes_of_row.append("an image of the same id as another file's")
        if split_of.setdefault(row["image"], row["split"]) != row["split"]:
            mistakes_of_row.append("an image in more than one split")
        breaks = sum(len(_LINE_BREAK.findall(value)) for value in read.values())
        for mistake in mistakes_of_row:
            mistakes[mistake].append(reader.line_num - breaks)
        yield row
    if "split" in (reader.fieldnames or []):
        for missing in sorted(set(SPLITS) - set(split_of.values())):
            mistakes[f"no image is in the split {missing}"] = []


def _field_mistakes(row: Row) -> Iterator[str]:
    fields = {"image": row["image"], "caption": mended_text(row["caption"]), "origin": row["origin"]}
    yield from (f"{column} is empty" for column, text in fields.items() if not is_visible(text))
    if character := unseen_in(row["image"]):
        yield f"image has the character {character}, which cannot be seen; take it out of the name"
    if row["split"] not in SPLITS:
        yield f"split is {row['split']!r}; expected train, val or test"
    if not _CODE.fullmatch(row["language"]):
        yield f"language is {row['language']!r}; expected a two-letter code (ISO 639-1) such as en"
    elif unknown := unknown_code(row["language"]):
        yield f"language {unknown}"
    elif lacking := without_tokenizer(row["language"]):
        yield f"language {lacking}"
    if source := row["source_language"]:
        if not _CODE.fullmatch(source):
            yield f"source_language is {source!r}; expected nothing or a two-letter code"
        elif unknown := unknown_code(source):
            yield f"source_language {unknown}"
        elif source == row["language"]:
            yield f"source_language is {source!r}, the caption's own language; expected another, or nothing"


def _raw_mistakes(read: Row) -> Iterator[str]:
    """Mistakes that an editor or a broken copy left in the fields as written in the file."""
    if any("\0" in value for value in read.values()):
        yield "a NUL byte; the file may be UTF-16 or damaged, save it as CSV in UTF-8"
    place = list(read).index("language")
    for column in ("image", "caption"):
        if is_spoilt(read[column]):
            yield f"{column} is {read[column].strip()!r}, {SPOILT}"
    for value in read.values():
        rows = [line.split(",") for line in _LINE_BREAK.split(value)[1:]]
        if any(len(row) >= len(read) and _CODE.fullmatch(row[place].strip()) for row in rows):
            yield "a quotation mark that is not closed: it takes in the next rows; double it or take it out"
            return


def _message(mistake: tuple[str, list[int]]) -> str:
    what, lines = mistake
    if not lines:
        return what
    more = f" and {len(lines) - _MAX_SHOWN} more" if len(lines) > _MAX_SHOWN else ""
    return f"{what}: line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MAX_SHOWN]))}{more}"


class PredefinedSplit(Block):
    """A CSV file with columns image, split."""

    split: PathText


class TableSplit(Block):
    """A table of captions with a column `split`, or the seed of a sampled split if it has no such column."""

    captions: PathText
    split_seed: Seed = 0


class CaptionKeys(Block):
    """A table of captions, perhaps with {language} in its name."""

    captions: PathText


def _read_split(settings: PredefinedSplit | TableSplit, inputs: Inputs) -> Split:
    if isinstance(settings, PredefinedSplit):
        return own_predefined(Path(settings.split), inputs.image_list)
    return own_split(Path(settings.captions), settings.split_seed, inputs.image_list)


def _read_captions(settings: CaptionKeys, inputs: Inputs, language: str, split: Split) -> list[Caption]:
    return own_captions_in(Path(settings.captions.replace("{language}", language)), language, split)


SOURCE: Source[PredefinedSplit | TableSplit, CaptionKeys, NoKeys] = Source(
    split_settings=(PredefinedSplit, TableSplit),
    caption_settings=CaptionKeys,
    part_settings=NoKeys,
    needs=("captions", "images"),
    terms=Terms("photographs and captions of one's own", "not stated here; ask who trained it"),
    read_split=_read_split,
    read_captions=_read_captions,
)
