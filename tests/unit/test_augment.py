"""Translations added until every image has five sentences: worked out by hand."""

from pathlib import Path

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from pipeline.datasets.augment import added_translations, augment
from pipeline.datasets.captions import SENTENCE_COLUMNS
from pipeline.datasets.select import training_captions
from pipeline.datasets.table import caption_table, read_sentences, write_sentences


def sentences(rows: list[tuple[str, str, str]], language: str, origin: str, source: str = "") -> pd.DataFrame:
    """A sentence table of (image, split, caption)."""
    made = [(image, split, language, text, origin, source) for image, split, text in rows]
    return caption_table(made).assign(tokens=[text for _, _, text in rows])


def english(language: str = "fr", images: str = "abc", each: int = 5) -> pd.DataFrame:
    """Translations 1, 2, ... of each image's English captions; image c is for testing."""
    rows = [
        (image, "test" if image == "c" else "train", f"{image}{number}")
        for image in images
        for number in range(1, each + 1)
    ]
    return sentences(rows, language, "google", "en")


def test_an_image_gets_translations_of_its_first_english_captions_until_it_has_five() -> None:
    own = sentences([("a", "train", "un"), ("b", "train", "x"), ("b", "train", "y")], "fr", "human", "en")
    added = added_translations(own, english())
    assert list(added["caption"]) == [
        "a1",
        "a2",
        "a3",
        "a4",
        "b1",
        "b2",
        "b3",
    ]  # none of image c, which is for testing


def test_an_image_without_captions_of_its_own_gets_five_and_one_with_six_none() -> None:
    own = sentences([("b", "train", str(number)) for number in range(6)], "ja", "human")
    added = added_translations(own, english("ja"))
    assert list(added["caption"]) == ["a1", "a2", "a3", "a4", "a5"]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(0, 6))
def test_every_image_gets_all_its_captions_and_translations_up_to_five(own: list[int], each: int) -> None:
    rows = [(f"i{n}", "train", f"{n} {k}") for n, count in enumerate(own) for k in range(count)]
    translated = [(f"i{n}", "train", f"{n} {k}") for n in range(len(own)) for k in range(each)]
    mine = sentences(rows, "fr", "human")
    added = added_translations(mine, sentences(translated, "fr", "google", "en"))
    counts = pd.concat([mine, added]).groupby("image").size()
    for number, count in enumerate(own):
        assert counts.get(f"i{number}", 0) == max(count, min(5, count + each))


def test_a_language_that_lacks_nothing_has_a_table_without_rows(tmp_path: Path) -> None:
    own = sentences([("a", "train", str(number)) for number in range(5)], "de", "human")
    write_sentences(own, tmp_path / "de.csv")
    write_sentences(english("de", images="a"), tmp_path / "en-de.csv")
    augment(tmp_path / "de.csv", tmp_path / "en-de.csv", tmp_path / "added.csv")
    added = read_sentences(tmp_path / "added.csv", may_be_empty=True)
    assert added.empty and list(added.columns) == SENTENCE_COLUMNS


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_sentences(sentences([("a", "train", "un")], "fr", "human", "en"), tmp_path / "fr.csv")
    write_sentences(english(images="a"), tmp_path / "en-fr.csv")
    augment(tmp_path / "fr.csv", tmp_path / "en-fr.csv", tmp_path / "added.csv")
    added = read_sentences(tmp_path / "added.csv", may_be_empty=True)
    assert list(added["caption"]) == ["a1", "a2", "a3", "a4"]
    assert set(added["origin"]) == {"google"} and set(added["source_language"]) == {"en"}


def test_captions_of_another_origin_are_not_own_captions(tmp_path: Path) -> None:
    """As in Flickr8K-CN's Chinese: human captions and machine translations."""
    by_people = sentences([("a", "train", "一"), ("a", "train", "二")], "zh", "human")
    by_machine = sentences([("a", "train", str(number)) for number in range(5)], "zh", "baidu", "en")
    write_sentences(pd.concat([by_people, by_machine]), tmp_path / "zh.csv")
    write_sentences(english("zh", images="a"), tmp_path / "en-zh.csv")
    for origin, expected in (("human", ["a1", "a2", "a3"]), ("baidu", [])):
        augment(tmp_path / "zh.csv", tmp_path / "en-zh.csv", tmp_path / "added.csv", origin)
        assert list(read_sentences(tmp_path / "added.csv", may_be_empty=True)["caption"]) == expected


def test_own_captions_come_before_added_ones() -> None:
    own = sentences([("a", "train", "un")], "fr", "human", "en")
    chosen = training_captions(own, [added_translations(own, english(images="a"))], "augmented")
    assert list(chosen["caption"]) == ["un", "a1", "a2", "a3", "a4"]
