"""The translation part and the comparable part of a data set, as *Lessons* uses them (Section 4)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.published import TRANSLATION, no_part
from pipeline.datasets.source import Data, Inputs, Source
from pipeline.datasets.sources import source_named
from pipeline.datasets.split import Split, read_split
from pipeline.datasets.table import caption_table, read_sentences, write_sentences
from pipeline.datasets.tokenize import with_tokens


def read_caption_part(
    part: Literal["translation", "comparable"],
    language: str,
    output: Path,
    source: str = "",
    settings: Mapping[str, Any] = {},
    sources: Path = Path("work/sources"),
    split: Path | None = None,
    sentences: Path | None = None,
    origin: str = "human",
) -> None:
    """Extract the translation or the comparable part of a data set in one language.

    Args:
        part: the part.
        language: ISO 639-1 code.
        output: sentence table to write.
        source: the source, if it has the part apart from its captions.
        settings: what a source needs that is not published, such as {"dataset": "multi30k", "seed": 0}.
        sources: folder of published files, laid out as HOST/PATH.
        split: output of `split`, for a source that is published.
        sentences: sentence table of the data set, if the part is among its captions.
        origin: with `sentences`: origin of the language's own captions.

    Raises:
        InputError: both or neither of `source` and `sentences`; the part has no captions in the language; a
            file is missing or wrong.
    """
    if bool(source) == (sentences is not None):
        raise InputError("read-caption-part: give --source or --sentences; one of them.")
    if sentences is not None:
        write_sentences(caption_part(read_sentences(sentences), part, language, origin), output)
        return
    found = source_named(source)
    raise_together(found.part_mistakes(part, settings, split), f"read-caption-part, source {source}:")
    image_split = read_split(split) if split else {}
    write_sentences(source_part(found, settings, Inputs(sources), part, language, image_split), output)


def source_part(
    source: Source, data: Data, inputs: Inputs, part: str, language: str, split: Split
) -> pd.DataFrame:
    """Sentence table of a part that a source has apart from its captions; raises what its reader raises."""
    assert source.read_part is not None, "only parts that a source names are read from it"
    table = caption_table(source.read_part(data, inputs, part, language, split))
    return (
        table.assign(tokens=table["caption"]) if source.parts_are_tokenised else with_tokens(table, language)
    )


def caption_part(sentences: pd.DataFrame, part: str, language: str, origin: str = "human") -> pd.DataFrame:
    """A part of a data set's captions: those that people translated, or those that they wrote independently.

    Args:
        sentences: sentence table of one language. origin: who or what wrote its own captions.

    Raises:
        InputError: there are no such captions.
    """
    own = sentences[sentences["origin"] == origin]
    translated = own["source_language"] != ""
    chosen = own[translated if part == TRANSLATION else ~translated]
    if chosen.empty:
        raise InputError(no_part(part, language, []))
    return chosen
