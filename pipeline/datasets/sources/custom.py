"""Captions of your own: a table with a row for each caption, or another usual file of captions."""

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.caption_files import caption_rows
from pipeline.datasets.captions import COLUMNS, SPLITS, Caption
from pipeline.datasets.published import require_language
from pipeline.datasets.source import Inputs, Source, StageKeys
from pipeline.datasets.split import Split, image_name, limit_to_list, predefined_split, whole_split

log = logging.getLogger("pipeline")


def read_own(path: Path, languages: Sequence[str] = ("en",)) -> tuple[list[Caption], bool]:
    """Captions of a user's file, and whether it has a split; if not, all rows are train.

    Columns: `image` (an id or a file's name: photos/a.jpg is the image a) and `caption`. Optional are
    `language` (ISO 639-1), `split` (train, val, test), `origin` (default: human) and `source_language`. White
    space around and line breaks inside a caption become single blanks.

    Args:
        languages: those that the file is for, of which there must be one if it has no column `language`. A
            split does not depend on them.

    Raises:
        InputError: lists every mistake.
    """
    from pipeline.datasets.table import caption_table, check_table  # imports pandas, which takes a second

    rows = caption_rows(path)
    if "language" not in rows[0] and len(languages) > 1:
        raise InputError(
            f"{path}: says no language, and is for {', '.join(languages)}. Give a file for each language "
            "(`captions` with {language} in its name), or add a column `language`."
        )
    captions = [
        Caption(
            image_name(row["image"]),
            row.get("split", "train"),
            row.get("language", languages[0]),
            " ".join(row["caption"].split()),
            row.get("origin", "human"),
            row.get("source_language", ""),
        )
        for row in rows
    ]
    has_split, mistakes = "split" in rows[0], []
    files = {(caption.image, row["image"]) for caption, row in zip(captions, rows, strict=True)}
    several = [image for image, count in Counter(image for image, _ in files).items() if count > 1]
    if several:
        mistakes.append(
            f"{len(several)} images are files of one id in several folders or of several kinds, "
            f"first {several[0]!r}"
        )
    if has_split and (missing := sorted(set(SPLITS) - {caption.split for caption in captions})):
        mistakes.append(f"no image is in the split {' or '.join(missing)}")
    check_table(caption_table(captions), COLUMNS, str(path), mistakes)
    return captions, has_split


def own_split(path: Path, seed: int, image_list: Path | None = None) -> Split:
    """The split of a table's images: from its column `split`, or with a tenth each sampled for val and test.

    Raises:
        InputError: as `read_own`, `limit_to_list` and `sampled_tenths`.
    """
    captions, has_split = read_own(path)
    split = {caption.image: caption.split for caption in captions}
    images = limit_to_list(split, image_list)
    return whole_split(images, split if has_split else sampled_tenths(set(images), seed))


def own_captions_in(keys: StageKeys, inputs: Inputs, language: str, split: Split) -> list[Caption]:
    """A table's captions in one language of the images of a split.

    Raises:
        InputError: as `read_own`, or there are none in the language, or of the split's images.
    """
    assert keys.captions, "as caption_keys say"
    path = Path(keys.captions.replace("{language}", language))
    captions, _ = read_own(path, [language])
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


def sampled_tenths(images: set[str], seed: int) -> Split:
    """Draw a tenth of the images for testing and a tenth for validation, at least one of each."""
    from pipeline.datasets.sampling import sampled_split  # imports pandas, which takes a second

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


def _read_split(keys: StageKeys, inputs: Inputs) -> Split:
    if keys.split:
        return predefined_split(Path(keys.split), inputs.image_list)
    assert keys.captions, "the other group of split_keys"
    return own_split(Path(keys.captions), keys.split_seed or 0, inputs.image_list)


SOURCE = Source(
    needs=("captions", "images"),
    split_keys=(("split",), ("captions", "split_seed")),
    caption_keys=(("captions",),),
    read_split=_read_split,
    read_captions=own_captions_in,
)
