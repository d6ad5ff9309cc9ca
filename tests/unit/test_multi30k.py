"""Multi30K: the reader on a small tree of the same layout, and on the published files."""

import csv
import gzip
import os
from pathlib import Path

import pandas as pd
import pytest

from pipeline.common.errors import InputError
from pipeline.datasets import flickr8k
from pipeline.datasets.read_source import split_images
from pipeline.datasets.source import StageKeys
from pipeline.datasets.sources.multi30k import FOLDER, multi30k_captions, multi30k_split
from pipeline.datasets.split import read_split, write_split
from pipeline.datasets.table import caption_table, read_sentences
from pipeline.datasets.text import collect_text

IMAGES = {"train": ["1.jpg", "2.jpg", "3.jpg"], "val": ["4.jpg"], "test": ["5.jpg"]}
MIRROR, FLICKR8K = os.environ.get("MULTILINGUAL_MIRROR"), os.environ.get("MULTILINGUAL_FLICKR8K")


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Caption "de2-1" is the second German one of image 1. Task 1 lists the images in another order."""
    data = tmp_path / FOLDER
    for split, images in IMAGES.items():
        first = "test_2016_flickr" if split == "test" else split
        second = "test_2016" if split == "test" else split
        _write(data / f"task1/image_splits/{first}.txt", images[::-1])
        _write(data / f"task2/image_splits/{second}_images.txt", images)
        for language in ("fr", "cs"):
            _write(
                data / f"task1/raw/{first}.{language}.gz", [f"{language}-{name[0]}" for name in images[::-1]]
            )
        for language in ("en", "de"):
            for number in range(1, 6):
                lines = [f" {language}{number}-{name[0]}\r" for name in images]
                _write(data / f"task2/raw/{second}.{number}.{language}.gz", lines)
    for split, images in {"train": ["5_a", "9_b"], "val": ["1_c"], "test": ["2_d"]}.items():
        _write(tmp_path / flickr8k.FLICKR8K / f"flickr8k{split}.txt", images)
    return tmp_path


def read_all(folder: Path, lists: str) -> pd.DataFrame:
    split = multi30k_split(folder, lists)
    return pd.concat(
        caption_table(multi30k_captions(folder, language, split)) for language in ("en", "de", "fr", "cs")
    )


def test_multi30ks_own_split(sources: Path) -> None:
    table = read_all(sources, "multi30k")
    assert len(table) == 5 * (5 + 5 + 1 + 1)
    assert list(multi30k_split(sources, "multi30k")) == ["1", "2", "3", "4", "5"]
    assert dict(zip(table["image"], table["split"], strict=True)) == {
        **dict.fromkeys("123", "train"),
        "4": "val",
        "5": "test",
    }
    of_two = table[table["image"] == "2"]
    expected = [f"{language}{number}-2" for language in ("en", "de") for number in range(1, 6)]
    assert list(of_two["caption"]) == [*expected, "fr-2", "cs-2"]
    assert list(of_two["source_language"]) == [""] * 10 + ["en"] * 2
    assert set(table["origin"]) == {"human"}


def test_the_split_of_flickr8k_keeps_its_images(sources: Path) -> None:
    split = multi30k_split(sources, "flickr8k")
    assert split == {"1": "val", "2": "test", "5": "train"}
    for language in ("en", "fr"):
        table = caption_table(multi30k_captions(sources, language, split))
        assert dict(zip(table["image"], table["split"], strict=True)) == split


def test_a_list_of_images_limits_the_split(sources: Path, tmp_path: Path) -> None:
    listed, output = tmp_path / "list.csv", tmp_path / "split.csv"
    listed.write_text("image\n4.jpg\n2.jpg\n5.jpg\n")
    split_images(StageKeys(source="multi30k", split="multi30k"), output, sources, image_list=listed)
    assert read_split(output) == {"2": "train", "4": "val", "5": "test"}


def test_a_language_needs_no_file_of_another(sources: Path) -> None:
    for path in (sources / FOLDER).rglob("*.*"):
        if path.suffix == ".gz" and not path.name.endswith(".fr.gz"):
            path.unlink()
    assert len(caption_table(multi30k_captions(sources, "fr", multi30k_split(sources, "multi30k")))) == 5
    with pytest.raises(FileNotFoundError, match=r"train\.1\.en\.gz"):
        caption_table(multi30k_captions(sources, "en", {"1": "train"}))


def test_a_language_without_captions_is_named_with_languages_that_have_some(sources: Path) -> None:
    with pytest.raises(InputError, match="Multi30K has no captions in 'it'; it has en, de, fr, cs"):
        caption_table(multi30k_captions(sources, "it", {"1": "train"}))


def test_text_for_word_vectors_holds_no_caption_of_a_held_out_image(sources: Path, tmp_path: Path) -> None:
    """Image 2 is for testing in one data set, 5 for validation in the other; 4 is in neither."""
    splits = [tmp_path / "first.csv", tmp_path / "second.csv"]
    write_split({"1": "train", "2": "test"}, splits[0])
    write_split({"2": "train", "5": "val", "9": "test"}, splits[1])
    collect_text("de", sources, splits, tmp_path / "text.csv")
    text = read_sentences(tmp_path / "text.csv")
    assert set(text["image"]) == {"1", "3", "4"}
    assert set(text["split"]) == {"train"}
    assert list(text[text["image"] == "4"]["tokens"]) == [f"de{number}-4" for number in range(1, 6)]


@pytest.mark.skipif(
    not (MIRROR and FLICKR8K), reason="MULTILINGUAL_MIRROR or MULTILINGUAL_FLICKR8K is not set"
)
def test_the_split_flickr8k_is_the_official_one() -> None:
    assert MIRROR and FLICKR8K
    split = multi30k_split(Path(MIRROR), "flickr8k")
    assert len(split) == 7_391
    with open(Path(FLICKR8K, "images.csv"), newline="") as file:
        flickr8k = {row["image"]: row["split"] for row in csv.DictReader(file)}
    assert len(flickr8k) == 6_490
    assert flickr8k == {image: split.get(image) for image in flickr8k}
