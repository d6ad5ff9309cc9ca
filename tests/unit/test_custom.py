"""Custom captions: a CSV file becomes a caption table, or every mistake is reported with its lines."""

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import cli
from pipeline.common.errors import InputError
from pipeline.datasets.source import Inputs, StageKeys
from pipeline.datasets.sources.custom import own_captions_in, own_split, read_own, sampled_tenths
from pipeline.datasets.split import predefined_split, read_split
from pipeline.datasets.table import read_captions
from pipeline.stages import STAGES


def write(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


def test_files_ids_and_defaults(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own.csv",
        "caption,image,language\r\n"
        "Mbwa wawili.,photos/a.jpg,sw\r\n"
        '"A dog,\r\nrunning ",photos/a.jpg,en\r\n'
        "Cats,b.c,en\r\n",
        "utf-8-sig",
    )
    captions, has_split = read_own(path)
    assert not has_split
    assert captions == [
        ("a", "train", "sw", "Mbwa wawili.", "human", ""),
        ("a", "train", "en", "A dog, running", "human", ""),
        ("b.c", "train", "en", "Cats", "human", ""),
    ]


def test_optional_columns_are_kept(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own.csv",
        "image,language,caption,split,origin,source_language\n"
        "a.PNG,en,A dog.,train,human,\nb.jpeg,de,Ein Hund.,val,google,en\nc,el,Σκύλος,test,human,\n",
    )
    captions, has_split = read_own(path)
    assert has_split
    assert [caption.image for caption in captions] == ["a", "b", "c"]
    assert [caption.split for caption in captions] == ["train", "val", "test"]
    assert captions[1] == ("b", "val", "de", "Ein Hund.", "google", "en")


def test_all_mistakes_are_reported_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(
        tmp_path / "own.csv",
        "image,language,caption,split,source_language\n"
        'a.jpg,en,"A\ndog.",train,\n'
        "other/a.jpg,eng, ,train,\n"
        "b.jpg,jp,Cats.,dev,en\n"
        "a.jpg,de,Hund,val,xyz\n",
    )
    with pytest.raises(InputError) as caught:
        read_own(path)
    for part in (
        "language 'eng' is not in ISO 639-1 in 1 rows, first in row 3",
        "caption is empty",
        "'jp' is not in ISO 639-1",
        "split is not train, val or test in 1 rows, first in row 4",
        "source_language 'xyz' is not in ISO",
        "1 images are in more than one split",
        "1 images are files of one id",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "column 'image' is missing; found nothing"),
        (b"image,language,caption\n", "no rows"),
        (b"image,language,caption,splits\na,en,b,train\n", "column 'splits' is unknown"),
        (b"image,language,caption,image\na,en,b,c\n", "column 'image' comes twice"),
        (b'image,language,caption\na,en,"b\n', "not a CSV file"),
        (b"b.jpg#0\tA dog.\nnothing\n", "line 2 has no image and caption: 'nothing'"),
        (b"image_name| comment_number| comment\n", "no captions"),
        (b"image,language,caption\na,en,b,c\na,en\n", "2 rows have not the fields .* line 2"),
        (b"image;language;caption\na;en;b\n", "found image;language;caption"),
        (b"PK\x03\x04", "Excel workbook"),
        ("image,language,caption\na,de,Bär\n".encode("latin-1"), "UTF-8"),
        (b"image,language,caption,source_language\na,de,b,de\n", "the caption's own language"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "own.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"own.csv: .*(?s:.*){message}"):
        read_own(tmp_path / "own.csv")
    with pytest.raises(InputError, match="is not there"):
        read_own(tmp_path / "none.csv")


KARPATHY = {
    "images": [
        {"filename": "a.jpg", "split": "restval", "sentences": [{"raw": "A dog."}]},
        {"filename": "b.jpg", "split": "val", "sentences": [{"raw": "Two cats."}]},
        {"filename": "c.jpg", "split": "test", "sentences": [{"raw": "It rains."}]},
    ],
    "dataset": "flickr30k",
}
COCO = {
    "images": [{"id": number, "file_name": f"{name}.jpg"} for number, name in enumerate("abc")],
    "annotations": [
        {"image_id": number, "id": 7, "caption": text}
        for number, text in enumerate(("A dog.", "Two cats.", "It rains."))
    ],
}
TOKEN = "a.jpg#0\tA dog.\r\nb.jpg#0\tTwo cats.\r\nc.jpg#0\tIt rains.\r\n"
BARS = "image_name| comment_number| comment\na.jpg| 0| A dog.\nb.jpg| 4   Two cats.\nc.jpg| 0| It rains."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("dataset_flickr30k.json", json.dumps(KARPATHY)),
        ("captions_val2014.json", json.dumps(COCO)),
        ("results.token", TOKEN),
        ("results.csv", BARS),
        ("captions.txt", "image,caption\na.jpg,A dog.\nb.jpg,Two cats.\nc.jpg,It rains.\n"),
    ],
)
def test_usual_files_of_captions_are_read(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    captions, has_split = read_own(path, ["de"])
    assert has_split == ("flickr30k" in name)
    splits = ["train", "val", "test"] if has_split else ["train"] * 3
    texts = ["A dog.", "Two cats.", "It rains."]
    assert captions == [
        (image, split, "de", text, "human", "")
        for image, split, text in zip("abc", splits, texts, strict=True)
    ]
    with pytest.raises(InputError, match="says no language, and is for en, de"):
        read_own(path, ["en", "de"])


def test_other_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"own\.json: not captions in Karpathy's or COCO's JSON"):
        read_own(write(tmp_path / "own.json", '{"captions": []}'))


FIELD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@given(captions=st.lists(FIELD, min_size=1, max_size=8))
def test_any_caption_is_read_with_single_blanks(
    tmp_path_factory: pytest.TempPathFactory, captions: list[str]
) -> None:
    path = tmp_path_factory.mktemp("own") / "own.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["image", "language", "caption"], *(["a", "en", c] for c in captions)])
    expected = [" ".join(caption.split()) for caption in captions]
    assert [caption.caption for caption in read_own(path)[0]] == expected


@given(count=st.integers(3, 400), seed=st.integers(0, 9))
def test_a_tenth_is_sampled_for_each_split_and_at_least_one_image(count: int, seed: int) -> None:
    split = pd.Series(sampled_tenths({str(number) for number in range(count)}, seed)).value_counts().to_dict()
    assert split == {"test": max(1, round(count / 10)), "val": max(1, round(count / 10))}


def test_two_images_cannot_be_split() -> None:
    with pytest.raises(InputError, match="There are 2 images; three are needed"):
        sampled_tenths({"a", "b"}, 0)


def test_the_stage_samples_a_split_and_logs_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = [f"p/{number}.jpg,{code},Text" for number in range(20) for code in ("en", "tr")]
    path = write(tmp_path / "own.csv", "\n".join(["image,language,caption", *names]))
    split, output = tmp_path / "s.csv", tmp_path / "tr.csv"
    caplog.set_level("INFO", "pipeline")
    run("split", {"captions": str(path), "split_seed": 1}, "--output", split)
    assert "2 test and 2 validation images of 20 are sampled with seed 1" in caplog.text
    assert pd.Series(read_split(split)).value_counts().to_dict() == {"train": 16, "test": 2, "val": 2}
    asked = ["--split", split, "--output", output, "--language"]
    run("read-captions", {"captions": str(path)}, *asked, "tr")
    table = read_captions(output)
    assert dict(zip(table["image"], table["split"], strict=True)) == read_split(split)
    with pytest.raises(InputError, match=r"own\.csv has no captions in 'fr'; it has en, tr"):
        run("read-captions", {"captions": str(path)}, *asked, "fr")


def run(stage: str, settings: dict[str, Any], *arguments: object) -> None:
    asked = [*map(str, arguments), "--settings", json.dumps({"source": "custom", **settings})]
    cli.run(STAGES[stage], asked)


def test_a_predefined_split_needs_no_caption_table(tmp_path: Path) -> None:
    given = write(tmp_path / "given.csv", "image,split\na,test\nb,train\nc,val\n")
    listed = write(tmp_path / "images.csv", "image\na\nc\n")
    asked = ["--image-list", listed, "--output", tmp_path / "split.csv"]
    run("split", {"split": str(given)}, *asked)
    assert read_split(tmp_path / "split.csv") == {"a": "test", "c": "val"}
    with pytest.raises(InputError, match="custom needs split or captions"):
        run("split", {}, *asked)


def test_a_split_in_the_table_is_kept_and_a_list_restricts_it(tmp_path: Path) -> None:
    rows = ["a,en,Text,test", "b,en,Text,train", "c,en,Text,val", "d,en,Text,train"]
    path = write(tmp_path / "own.csv", "\n".join(["image,language,caption,split", *rows]))
    assert own_split(path, 0) == {"a": "test", "b": "train", "c": "val", "d": "train"}
    listed = write(tmp_path / "images.csv", "image\nc\na\nb\n")
    assert own_split(path, 0, listed) == {"a": "test", "b": "train", "c": "val"}
    keys = StageKeys(source="custom", captions=str(path))
    captions = own_captions_in(keys, Inputs(), "en", own_split(path, 0, listed))
    assert [(caption.image, caption.split) for caption in captions] == [
        ("a", "test"), ("b", "train"), ("c", "val"),
    ]  # fmt: skip


def test_images_of_a_predefined_split_are_named_as_in_the_captions(tmp_path: Path) -> None:
    split = tmp_path / "split.csv"
    split.write_text("image,split\nred1.png,train\nred2,val\nred3.jpg,test\n")
    assert predefined_split(split) == {"red1": "train", "red2": "val", "red3": "test"}


def test_a_predefined_split_needs_every_part_and_each_image_once(tmp_path: Path) -> None:
    split = tmp_path / "split.csv"
    split.write_text("image,split\nred1.png,train\nred1.jpg,val\n")
    with pytest.raises(InputError) as mistakes:
        predefined_split(split)
    assert "no image is in the split test" in str(mistakes.value)
    assert "1 images are in it under more than one name" in str(mistakes.value)
