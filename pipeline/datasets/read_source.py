"""The stages that read a source of captions: its split, and its captions in one language."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.common.errors import raise_together
from pipeline.datasets.source import Inputs, Source
from pipeline.datasets.sources import source_named
from pipeline.datasets.split import read_split, write_split
from pipeline.datasets.table import caption_table, write_captions

SOURCES = Path("work/sources")


def split_images(
    source: str,
    settings: Mapping[str, Any],
    output: Path,
    sources: Path = SOURCES,
    requested: Path | None = None,
    image_list: Path | None = None,
) -> None:
    """Assign the images of a data set to train, val and test.

    Args:
        source: source of the captions, as in `datasets.*.source`.
        settings: keys of `datasets.*` that the split depends on, such as {"split": "flickr8k"}.
        output: CSV to write: columns image and split.
        sources: folder of published files, laid out as HOST/PATH.
        requested: folder or archive of the data that their owners give on request.
        image_list: CSV file with a column `image`: keep only these images, before a split is sampled.

    Raises:
        InputError: settings or data are missing or wrong; all that is wrong with a file is listed.
    """
    found = source_named(source)
    mistakes = [*found.split_mistakes(settings), *_request_mistakes(found, requested, "its split")]
    raise_together(mistakes, f"split, source {source}:")
    assert found.read_split, "checked by split_mistakes"
    write_split(found.read_split(settings, Inputs(sources, requested, image_list)), output)


def read_source_captions(
    source: str,
    language: str,
    split: Path,
    output: Path,
    settings: Mapping[str, Any] = {},
    sources: Path = SOURCES,
    requested: Path | None = None,
) -> None:
    """Read a data set's captions in one language.

    Args:
        source: source of the captions, as in `datasets.*.source`.
        language: ISO 639-1 code.
        split: output of `split`.
        output: caption table to write.
        settings: keys of `datasets.*` that the captions depend on, such as {"captions": "mine.csv"}.
        sources: folder of published files, laid out as HOST/PATH.
        requested: folder or archive of the data that their owners give on request.

    Raises:
        InputError: settings or data are missing or wrong; all that is wrong with a file is listed.
    """
    found = source_named(source)
    needed = found.requested is not None and language in found.requested.languages
    mistakes = found.caption_mistakes(settings)
    mistakes += _request_mistakes(found, requested, f"its captions in {language!r}") if needed else []
    raise_together(mistakes, f"read-captions, source {source}:")
    assert found.read_captions, "checked by caption_mistakes"
    inputs = Inputs(sources, requested)
    captions = found.read_captions(settings, inputs, language, read_split(split))
    write_captions(caption_table(captions), output)


def _request_mistakes(source: Source, requested: Path | None, what: str) -> list[str]:
    if source.requested is None or requested is not None:
        return []
    return [f"--requested is missing: {what} need {source.requested.name}, a folder or an archive"]
