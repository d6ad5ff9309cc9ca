"""Sentences with human translations, and scores against them."""

import gzip
import os
from pathlib import Path

import pandas as pd
import pytest

from pipeline.cli import run
from pipeline.datasets.flickr8k import flickr8k_split
from pipeline.datasets.sources.flickr8kcn import flickr8kcn_captions
from pipeline.datasets.sources.multi30k import FOLDER
from pipeline.datasets.table import caption_table, write_captions
from pipeline.stages import STAGES
from pipeline.translation.parallel import multi30k_translations, translations_in
from pipeline.translation.quality import quality_table, scores

MIRROR = os.environ.get("MULTILINGUAL_MIRROR")

ROWS = [
    ("1", "test", "en", "A dog.", "human", ""),
    ("1", "test", "en", "A cat.", "human", ""),
    ("1", "test", "zh", "一只狗。", "human", "en"),
    ("1", "test", "zh", "一只猫。", "human", "en"),
    ("1", "test", "zh", "自己写的。", "human", ""),
    ("1", "test", "zh", "狗。", "google", "en"),
    ("1", "test", "zh", "一只猫。", "google", "en"),
    ("2", "train", "en", "A horse.", "human", ""),
    ("2", "train", "zh", "一匹马。", "human", "en"),
]


class Upper:
    """A translator that answers in capitals."""

    version = "1"

    def __init__(self, source: str, target: str):
        self.source, self.target = source, target

    def translate(self, sentences: object) -> list[str]:
        return [sentence.upper() for sentence in sentences]  # type: ignore[attr-defined]


def test_translations_follow_the_order_of_an_images_captions() -> None:
    found = translations_in(caption_table(ROWS), "test")
    assert found.drop(columns="image").to_numpy().tolist() == [
        ["1#0", "en", "zh", "A dog.", "human", "一只狗。"],
        ["1#1", "en", "zh", "A cat.", "human", "一只猫。"],
        ["1#0", "en", "zh", "A dog.", "google", "狗。"],
        ["1#1", "en", "zh", "A cat.", "google", "一只猫。"],
    ]


def test_scores_worked_out_by_hand() -> None:
    same = scores(["the cat sat on the mat"], ["the cat sat on the mat"], "en")
    assert (same["BLEU"], same["chrF"], same["sentences"], same["without_translation"]) == (100, 100, 1, 0)
    # precisions 5/6, 3/5, 2/4, 1/3 for one to four words; no brevity penalty
    found = scores(["the cat sat on a mat"], ["the cat sat on the mat"], "en")
    assert found["BLEU"] == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, abs=0.01)


def test_chinese_and_japanese_are_not_split_by_spaces() -> None:
    for language, tokenizer in (("zh", "zh"), ("ja", "char")):
        found = scores(["一只狗在水里游泳"], ["一只狗在水中游泳"], language)
        assert float(found["BLEU"]) > 30
        assert f"tok:{tokenizer}" in str(found["BLEU_signature"])


def test_published_translations_and_a_translator_are_measured_side_by_side() -> None:
    table = quality_table(
        translations_in(caption_table(ROWS), "test"), "en", "zh", Upper("en", "zh"), "upper"
    )
    assert table[["provider", "version", "sentences"]].to_numpy().tolist() == [
        ["google", "published", 2],
        ["upper", "1", 2],
    ]
    assert table.loc[0, "chrF"] > 50
    assert table.loc[1, "chrF"] < 10


def _run(stage: str, *arguments: object) -> None:
    run(STAGES[stage], list(map(str, arguments)))


def test_the_table_has_all_pairs_and_marks_those_without_a_reference(tmp_path: Path) -> None:
    japanese = ("1", "test", "ja", "犬。", "human", "")
    for language, rows in caption_table([*ROWS, japanese]).groupby("language"):
        write_captions(rows, tmp_path / f"{language}.csv")
    for pair in ("en-ja", "en-zh"):
        _run(
            "measure-translation-quality", "--source", "en", "--target", pair[3:],
            "--captions", tmp_path / "en.csv", "--captions", tmp_path / f"{pair[3:]}.csv",
            "--scale", "flickr8k", "--dataset", "flickr8kcn",
            "--output", tmp_path / f"{pair}.csv",
        )  # fmt: skip
    parts = [tmp_path / f"{pair}.csv" for pair in ("en-zh", "en-ja")]
    _run("tabulate-translation-quality", "--parts", *parts, "--output", tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv", keep_default_na=False)
    columns = ["scale", "dataset", "source", "target", "provider", "sentences", "note"]
    assert table[columns].astype(str).to_numpy().tolist() == [
        ["flickr8k", "flickr8kcn", "en", "ja", "", "", "no human translation of the same sentences"],
        ["flickr8k", "flickr8kcn", "en", "zh", "google", "2", ""],
    ]


def test_multi30ks_human_translations_follow_its_lines(tmp_path: Path) -> None:
    task = tmp_path / FOLDER / "task1"
    for folder in ("raw", "image_splits"):
        (task / folder).mkdir(parents=True)
    (task / "image_splits/test_2016_flickr.txt").write_text("7.jpg\n9.jpg\n")
    for code in ("en", "de", "fr", "cs"):
        lines = "".join(f"{code} {number}\n" for number in range(2))
        (task / f"raw/test_2016_flickr.{code}.gz").write_bytes(gzip.compress(lines.encode()))
    table = multi30k_translations(tmp_path, "test")
    assert table[["image", "target", "caption", "translation"]].to_numpy().tolist() == [
        [image, code, f"en {number}", f"{code} {number}"]
        for code in ("de", "fr", "cs")
        for number, image in enumerate(["7", "9"])
    ]


@pytest.mark.skipif(not MIRROR, reason="MULTILINGUAL_MIRROR is not set")
def test_the_published_translations() -> None:
    assert MIRROR is not None
    task1 = multi30k_translations(Path(MIRROR), "test")
    assert task1.groupby("target").size().to_dict() == {"de": 1000, "fr": 1000, "cs": 1000}
    split = {image: name for image, name in flickr8k_split(Path(MIRROR)).items() if name == "test"}
    flickr = translations_in(
        pd.concat(
            caption_table(flickr8kcn_captions(Path(MIRROR), language, split)) for language in ("en", "zh")
        ),
        "test",
    )
    table = quality_table(flickr, "en", "zh").set_index("provider")
    assert table["sentences"].to_dict() == {"baidu": 5000, "google": 5000}
    assert 20 < table.loc["google", "chrF"] < table.loc["baidu", "chrF"] < 50
