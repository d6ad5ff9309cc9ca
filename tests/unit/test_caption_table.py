"""The schema of caption tables, and the choice of captions by origin."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.datasets.select import original_captions
from pipeline.datasets.split import limit_to_list
from pipeline.datasets.table import caption_table, mended_captions, read_captions, write_captions

ROW = ("1", "train", "en", "A dog runs.", "human", "")


def _table(*rows: tuple[str, ...]) -> pd.DataFrame:
    return caption_table(list(rows))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip))
def test_any_caption_survives_a_file(tmp_path_factory: pytest.TempPathFactory, caption: str) -> None:
    path = tmp_path_factory.mktemp("table") / "captions.csv"
    table = _table(ROW, ("2", "val", "de", caption, "google", "en"))
    write_captions(table, path)
    assert read_captions(path).to_numpy().tolist() == table.to_numpy().tolist()


def test_all_mistakes_are_listed_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("earlier")
    wrong = _table(ROW, ("1", "test", "eng", "  ", "human", "English"), ("3", "dev", "de", "x", "human", ""))
    with pytest.raises(InputError) as caught:
        write_captions(wrong, path)
    for part in ("caption is empty in 1 rows, first in row 3", "split is not", "row 4", "language", "'1'"):
        assert part in str(caught.value)
    assert path.read_text() == "earlier"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "No columns"),
        (b"image,split\n1,train\n", "'language' is missing"),
        (b"image,split,language,caption,origin,source_language,number\n", "no captions"),
        (b"image\n\xff\n", "UTF-8"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "captions.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"captions.csv: .*(?s:.*){message}"):
        read_captions(path)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("l&#39;homme", "l'homme"),
        ("des gar&ccedil;ons", "des garçons"),
        ("a man&amp;#39;s dog", "a man's dog"),
        ("a&nbsp;dog&#10;runs", "a dog runs"),
        ("fish &chips; R&D", "fish &chips; R&D"),
    ],
)
def test_html_references_are_read_as_their_characters(written: str, read: str) -> None:
    table = _table(ROW, (*ROW[:3], written, "human", ""), (*ROW[:3], "&nbsp; ", "human", ""), ROW)
    mended = mended_captions(table)
    assert list(mended["caption"]) == ["A dog runs.", read, "A dog runs."]
    assert list(mended["number"]) == [0, 1, 3]  # a translation of the last is still found


def test_captions_are_numbered_within_their_image_language_and_origin(tmp_path: Path) -> None:
    english = [("1", "train", "en", text, "human", "") for text in ("a", "b", "c")]
    chinese = [("1", "train", "zh", text, "google", "en") for text in ("A", "B", "C")]
    other = [("2", "train", "en", "d", "human", ""), ("1", "train", "zh", "own", "human", "")]
    write_captions(_table(*english, *chinese, *other), tmp_path / "captions.csv")
    assert list(read_captions(tmp_path / "captions.csv")["number"]) == [0, 1, 2, 0, 1, 2, 0, 0]
    with pytest.raises(InputError, match="number"):
        write_captions(_table(ROW).assign(number=-1), tmp_path / "captions.csv")


CHINESE = _table(
    ROW,
    ("1", "train", "zh", "own", "human", ""),
    ("1", "train", "zh", "machine", "google", "en"),
    ("2", "test", "zh", "own", "human", ""),
    ("2", "test", "zh", "by people", "human", "en"),
    ("1", "train", "fr", "by people", "human", "en"),
)


@pytest.mark.parametrize(
    ("origin", "rows"),
    [
        ("human", [0, 1, 3, 5]),  # French has only translations: they stay
        ("google", [2]),
    ],
)
def test_translations_do_not_mix_with_independent_captions(origin: str, rows: list[int]) -> None:
    assert list(original_captions(CHINESE, origin).index) == rows


def test_a_missing_origin_is_reported_with_the_existing_origins() -> None:
    with pytest.raises(InputError, match=r"origin 'baidu'; found .*google.*human"):
        original_captions(CHINESE, "baidu")


def test_a_list_of_images_restricts_those_of_a_data_set(tmp_path: Path) -> None:
    images = tmp_path / "images.csv"
    images.write_text("split,image\ntest,2\n")
    assert limit_to_list(["1", "2", "3"], images) == ["2"]
    assert limit_to_list(["1", "2", "3"], None) == ["1", "2", "3"]
    images.write_text("image\n2\n8\n9\n")
    with pytest.raises(InputError, match=r"(?s)2 of its 3 images have no captions.*8.*9"):
        limit_to_list(["1", "2", "3"], images)
    images.write_text("id\n2\n")
    with pytest.raises(InputError, match=r"column 'image' is missing; found id"):
        limit_to_list(["1", "2", "3"], images)
