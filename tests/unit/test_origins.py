"""Captions counted by who wrote them."""

from pathlib import Path

from pipeline.datasets.origins import count_by_pair, count_origins
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.evaluation.inputs import original_sentences

GERMAN = caption_table(
    [
        ("a", "train", "de", "eins", "human", ""),
        ("a", "train", "de", "zwei", "google", "en"),
        ("b", "train", "de", "drei", "google", "en"),
        ("c", "train", "de", "vier", "dictionary", "fr"),
        ("d", "test", "de", "fünf", "baidu", "en"),
    ]
)
FRENCH = caption_table([("a", "train", "fr", "un", "marian", "en")])


def test_captions_of_a_splits_images_are_counted_by_origin() -> None:
    found = count_origins(GERMAN, "train", ["a", "b", "c", "d"])
    assert list(found.items()) == [("dictionary", 1), ("google", 2), ("human", 1)]
    assert count_origins(GERMAN, "train", ["a"]) == {"google": 1, "human": 1}
    assert count_origins(GERMAN, "test", ["a", "d"]) == {"baidu": 1}
    assert count_origins(GERMAN, "val", ["a"]) == {}


def test_translations_are_counted_by_pair_of_languages() -> None:
    translated = GERMAN[GERMAN["source_language"] != ""]
    found = count_by_pair([translated, FRENCH], "train", ["a", "b", "c"])
    assert found == {"en-de": {"google": 2}, "en-fr": {"marian": 1}, "fr-de": {"dictionary": 1}}
    assert count_by_pair([], "train", ["a"]) == {}


def test_an_evaluation_reads_captions_of_the_configured_origin(tmp_path: Path) -> None:
    write_sentences(with_tokens(GERMAN, "de"), tmp_path / "de.csv")
    for origins, captions in (({}, ["eins"]), ({"de": "google"}, ["zwei", "drei"])):
        (found,) = original_sentences([tmp_path / "de.csv"], ["de"], origins).values()
        assert list(found["caption"]) == captions
