"""Translations added until every image has five sentences: worked out by hand."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from pipeline.datasets.select import added_translations, training_captions
from pipeline.datasets.table import caption_table


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
    (added,) = added_translations(own, [english()], "augmented")
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
    (added,) = added_translations(own, [english("ja")], "augmented")
    assert list(added["caption"]) == ["a1", "a2", "a3", "a4", "a5"]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(0, 6))
def test_every_image_gets_all_its_captions_and_translations_up_to_five(own: list[int], each: int) -> None:
    rows = [(f"i{n}", "train", f"{n} {k}") for n, count in enumerate(own) for k in range(count)]
    translated = [(f"i{n}", "train", f"{n} {k}") for n in range(len(own)) for k in range(each)]
    mine = sentences(rows, "fr", "human")
    (added,) = added_translations(mine, [sentences(translated, "fr", "google", "en")], "augmented")
    counts = pd.concat([mine, added]).groupby("image").size()
    for number, count in enumerate(own):
        assert counts.get(f"i{number}", 0) == max(count, min(5, count + each))


def test_own_captions_come_before_added_ones() -> None:
    own = sentences([("a", "train", "un")], "fr", "human", "en")
    added = added_translations(own, [english(images="a")], "augmented")
    chosen = training_captions(own, added, "augmented")
    assert list(chosen["caption"]) == ["un", "a1", "a2", "a3", "a4"]
