"""Words, captions, images and pairs of every condition of *Lessons*, from Multi30K's published text."""

import functools
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.datasets.lessons_parts import source_part
from pipeline.datasets.sampling import caption_sample, halves
from pipeline.datasets.source import Inputs, PartKeys
from pipeline.datasets.sources.multi30k import multi30k_split
from pipeline.training.tasks import caption_pairs
from pipeline.words.selection import union_of_words

MIRROR = os.environ.get("MULTILINGUAL_MIRROR")
pytestmark = pytest.mark.skipif(MIRROR is None, reason="MULTILINGUAL_MIRROR is not set")

ALL = ("en", "de", "fr", "cs")


@functools.cache
def split() -> dict[str, str]:
    return multi30k_split(Path(str(MIRROR)), "multi30k")


@functools.cache
def part(name: str, language: str) -> pd.DataFrame:
    """Training captions."""
    table = source_part(PartKeys(source="multi30k"), Inputs(Path(str(MIRROR))), name, language, split())
    return table[table["split"] == "train"]


@functools.cache
def image_rows() -> dict[str, int]:
    training = sorted(image for image, name in split().items() if name == "train")
    return {image: row for row, image in enumerate(training)}


def pairs(tables: list[pd.DataFrame]) -> int:
    images = [np.sort(table["image"].map(image_rows()).to_numpy()) for table in tables]
    return len(caption_pairs(images, [0] * len(images)))


def words(tables: dict[str, pd.DataFrame]) -> int:
    return len(union_of_words({code: table["tokens"] for code, table in tables.items()}, 4))


def test_translations() -> None:
    """Section 4 has a union of 16,553 words of 17,571; the published text has 16,562 of 17,565."""
    tables = {code: part("translation", code) for code in ALL}
    assert {code: len(table) for code, table in tables.items()} == dict.fromkeys(ALL, 29_000)
    assert all(table["image"].nunique() == 29_000 for table in tables.values())
    assert words(tables) == 16_562
    assert sum(words({code: table}) for code, table in tables.items()) == 17_565
    assert pairs([tables["en"], tables["de"]]) == 29_000
    assert pairs(list(tables.values())) == 6 * 29_000


def test_independent_captions() -> None:
    """The paper has a union of 17,667 words of 18,337, and "155K" captions of both languages."""
    tables = {code: part("comparable", code) for code in ("en", "de")}
    assert {code: len(table) for code, table in tables.items()} == {"en": 145_000, "de": 145_000}
    assert words(tables) == 17_664
    assert sum(words({code: table}) for code, table in tables.items()) == 18_328
    assert pairs(list(tables.values())) == 25 * 29_000


def test_one_independent_caption_of_each_image() -> None:
    drawn = {code: caption_sample(part("comparable", code), 1, 0) for code in ("en", "de")}
    assert all(len(table) == table["image"].nunique() == 29_000 for table in drawn.values())
    assert pairs(list(drawn.values())) == 29_000
    assert pairs([*drawn.values(), part("translation", "fr"), part("translation", "cs")]) == 6 * 29_000


def test_the_halves_of_the_text_have_equal_or_disjoint_images() -> None:
    """Section 5.3: 72.5K captions over 14.5K images; overlap 145K over 14.5K, disjoint 145K over 29K."""
    first, second = (
        {image for image, half in halves(split(), 0).items() if half == name} for name in ("first", "second")
    )
    assert (len(first), len(second), len(first & second)) == (14_500, 14_500, 0)
    of = {
        (code, name): part("comparable", code)[part("comparable", code)["image"].isin(images)]
        for code in ("en", "de")
        for name, images in (("first", first), ("second", second))
    }
    assert {len(table) for table in of.values()} == {72_500}
    overlap = pd.concat([of["en", "first"], of["de", "first"]])
    disjoint = pd.concat([of["en", "first"], of["de", "second"]])
    assert (len(overlap), overlap["image"].nunique()) == (145_000, 14_500)
    assert (len(disjoint), disjoint["image"].nunique()) == (145_000, 29_000)
    assert pairs([of["en", "first"], of["de", "first"]]) == 25 * 14_500
    assert pairs([of["en", "first"], of["de", "second"]]) == 0


def test_46_possible_pairs_come_from_the_comparable_part_with_french_and_czech() -> None:
    """Section 6.2 adds the comparable part to the translations, which makes 61 pairs of an image, not 46.

    46 are 5 x 5 of English and German, 5 of each with French and with Czech, and one of these two: the
    comparable part in the place of the translations into English and German.
    """
    other = [part("translation", "fr"), part("translation", "cs")]
    comparable = [part("comparable", code) for code in ("en", "de")]
    both = [pd.concat([part("translation", code), part("comparable", code)]) for code in ("en", "de")]
    assert pairs([*comparable, *other]) == 46 * 29_000
    assert pairs([*both, *other]) == 61 * 29_000
