"""A test caption without a translation is still a query."""

from pipeline.datasets.table import caption_table
from pipeline.evaluation.evaluate import untranslated_rows

ROWS = [
    ("a", "test", "ja", "いち", "human", ""),
    ("a", "test", "ja", "に", "human", ""),
    ("b", "test", "ja", "さん", "human", ""),
    ("c", "test", "ja", "し", "human", ""),
]


def test_each_missing_translation_gives_one_row_without_tokens() -> None:
    originals = caption_table(ROWS).assign(tokens="x")
    translated = caption_table(
        [("a", "test", "en", "one", "dictionary", "ja"), ("c", "test", "en", "four", "dictionary", "ja")]
    )
    missing = untranslated_rows(originals, translated)
    assert missing["image"].tolist() == ["a", "b"]
    assert set(missing["tokens"]) == {""}
    assert set(missing["split"]) == {"test"}


def test_nothing_is_added_if_everything_is_translated() -> None:
    originals = caption_table(ROWS).assign(tokens="x")
    assert untranslated_rows(originals, originals.assign(language="en", source_language="ja")).empty
