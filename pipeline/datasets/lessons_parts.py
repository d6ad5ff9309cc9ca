"""The translation part and the comparable part of a data set, as *Lessons* uses them (Section 4)."""

from pathlib import Path
from typing import Literal

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.datasets.published import TRANSLATION, no_part
from pipeline.datasets.source import Inputs, StageKeys
from pipeline.datasets.sources import source_named
from pipeline.datasets.split import read_split
from pipeline.datasets.table import caption_table, read_sentences, write_sentences
from pipeline.datasets.tokenize import with_tokens


def read_caption_part(
    part: Literal["translation", "comparable"],
    language: str,
    output: Path,
    settings: StageKeys | None = None,
    sources: Path = Path("work/sources"),
    split: Path | None = None,
    sentences: Path | None = None,
    origin: str = "human",
) -> None:
    """Extract the translation or the comparable part of a data set in one language.

    Args:
        part: the part to extract.
        language: ISO 639-1 code.
        output: sentence table to write.
        settings: the source, if it publishes the part separately, such as {"source": "multi30k"}.
        sources: folder of published files, laid out as HOST/PATH.
        split: output of `split`, for a source that is published.
        sentences: sentence table of the data set, if the part is among its captions.
        origin: with `sentences`: origin of the language's own captions.

    Raises:
        InputError: neither `settings` nor `sentences` is given, the part has no captions in the language, or
            a file is missing or wrong.
    """
    if settings:
        source = source_named(settings.source)
        assert part in source.parts and source.read_part, "as the plan asks"
        captions = source.read_part(
            settings, Inputs(sources), part, language, read_split(split) if split else {}
        )
        table = caption_table(captions)
        if source.parts_are_tokenised:
            table = table.assign(tokens=table["caption"])
        else:
            table = with_tokens(table, language)
    elif sentences:
        table = caption_part(read_sentences(sentences), part, language, origin)
    else:
        raise InputError("read-caption-part: give either --settings or --sentences.")
    write_sentences(table, output)


def caption_part(sentences: pd.DataFrame, part: str, language: str, origin: str = "human") -> pd.DataFrame:
    """A part of a data set's captions: either human translations or independently written captions.

    Args:
        sentences: sentence table of one language. origin: who or what wrote its own captions.

    Raises:
        InputError: there are no such captions.
    """
    own = sentences[sentences["origin"] == origin]
    is_translation = own["source_language"] != ""
    of_part = own[is_translation if part == TRANSLATION else ~is_translation]
    if of_part.empty:
        raise InputError(no_part(part, language, []))
    return of_part
