"""The translation part and the comparable part of a data set, as *Lessons* uses them (Section 4)."""

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.datasets.published import TRANSLATION, no_part
from pipeline.datasets.source import Data, Inputs, Source
from pipeline.datasets.split import Split
from pipeline.datasets.table import caption_table
from pipeline.datasets.tokenize import with_tokens


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
