"""Flickr8K-CN and its Japanese: the reader on a small tree of the same layout, and on the published files."""

import os
from pathlib import Path

import pandas as pd
import pytest

from pipeline.datasets.flickr8k import FLICKR8K as FOLDER
from pipeline.datasets.flickr8k import flickr8k_split
from pipeline.datasets.read_source import read_source_captions
from pipeline.datasets.source import StageKeys
from pipeline.datasets.sources.flickr8kcn import JAPANESE, flickr8kcn_captions
from pipeline.datasets.split import write_split
from pipeline.datasets.table import caption_table, read_captions

MIRROR = os.environ.get("MULTILINGUAL_MIRROR")
SPLIT = {"train": ["11_aa"], "val": ["22_bb"], "test": ["33_cc"]}
KINDS = {"enc": "caption", "zhc": "caption", "zhg": "caption", "zhb": "caption", "zhmtest": "captions"}


def _text(kind: str) -> Path:
    return Path(FOLDER, f"flickr8k{kind}.{KINDS[kind]}.txt")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Captions are in the order of their numbers, as in zhc; image 44 is in no official list."""
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / JAPANESE).parent.mkdir(parents=True)
    for split, images in SPLIT.items():
        (tmp_path / FOLDER / f"flickr8k{split}.txt").write_text("\n".join(images) + "\n")
    for kind in KINDS:
        images = (
            ["33_cc.jpg"] if kind == "zhmtest" else ["44_dd.jpg.1", "11_aa.jpg", "22_bb.jpg", "33_cc.jpg"]
        )
        lines = [f"{image}#{kind[:3]}#{n}  {kind}{n} of {image[:2]}" for n in range(5) for image in images]
        (tmp_path / _text(kind)).write_text("\r\n".join(lines) + "\r\n")
    lines = [
        f"[{image}.jpg#{n}]\tja{n} of {image[:2]}" for n in range(5) for image in ("33_cc", "11_aa", "22_bb")
    ]
    (tmp_path / JAPANESE).write_text("\n".join(lines))
    return tmp_path


def read_all(folder: Path) -> pd.DataFrame:
    split = flickr8k_split(folder)
    return pd.concat(
        caption_table(flickr8kcn_captions(folder, language, split)) for language in ("en", "zh", "ja")
    )


def test_captions_of_the_official_lists(sources: Path) -> None:
    table = read_all(sources)
    assert dict(zip(table["image"], table["split"], strict=True)) == {
        "11": "train",
        "22": "val",
        "33": "test",
    }
    kinds = {
        (language, origin, source): list(rows["caption"])
        for (language, origin, source), rows in table.groupby(["language", "origin", "source_language"])
    }
    everywhere = [(image, n) for image in (11, 22, 33) for n in range(5)]
    assert kinds == {
        ("en", "human", ""): [f"enc{n} of {image}" for image, n in everywhere],
        ("zh", "human", ""): [f"zhc{n} of {image}" for image, n in everywhere],
        ("zh", "human", "en"): [f"zhmtest{n} of 33" for n in range(5)],
        ("zh", "google", "en"): [f"zhg{n} of {image}" for image, n in everywhere],
        ("zh", "baidu", "en"): [f"zhb{n} of {image}" for image, n in everywhere],
        ("ja", "google", "en"): [f"ja{n} of {image}" for image, n in everywhere],
    }


def test_without_human_captions_of_training_images(sources: Path, tmp_path: Path) -> None:
    """Captions of other origins and of other splits stay."""
    split, output, keys = tmp_path / "split.csv", tmp_path / "zh.csv", StageKeys(source="flickr8kcn")
    write_split(flickr8k_split(sources), split)
    for fraction in (1.0, 0.0):
        read_source_captions(keys, "zh", split, output, sources, captioned_images=fraction)
        table = read_captions(output)
        found = table[["split", "origin"]].value_counts().to_dict()
        human = found.pop(("train", "human"), 0)
        assert (human, found[("train", "google")], found[("test", "human")]) == (5 * fraction, 5, 10)


@pytest.mark.skipif(not MIRROR, reason="MULTILINGUAL_MIRROR is not set")
def test_the_published_files() -> None:
    assert MIRROR is not None
    table = read_all(Path(MIRROR))
    counts = table.groupby(["language", "origin", "source_language", "split"]).size().to_dict()
    images = {"train": 6_000, "val": 1_000, "test": 1_000}
    everywhere = [
        ("en", "human", ""),
        ("zh", "human", ""),
        ("zh", "google", "en"),
        ("zh", "baidu", "en"),
        ("ja", "google", "en"),
    ]
    expected = {(*kind, split): 5 * count for kind in everywhere for split, count in images.items()}
    assert counts == expected | {("zh", "human", "en", "test"): 5_000}
