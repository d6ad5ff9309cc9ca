"""A user's own captions must cover every split in every language, or a message says what is missing."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.common.errors import InputError
from pipeline.datasets.coverage import coverage, missing_captions
from pipeline.datasets.settings import Dataset

# Three images are for training, three for validation and two for testing; Swahili has no test captions.
TABLE = """image,language,caption,split
a.png,en,one,train
a.png,en,one again,train
b.png,en,two,train
c.png,sw,tatu,train
d.png,en,four,val
d.png,sw,nne,val
e.png,en,five,test
f.png,en,six,test
"""


def own(folder: Path, **changes: Any) -> Dataset:
    (folder / "captions.csv").write_text(TABLE)
    captions = str(folder / "captions.csv")
    values = {
        "source": "custom",
        "captions": captions,
        "images": "photos",
        "languages": ["en", "sw"],
        **changes,
    }
    return Dataset.from_values(values, "not a data set:")


def test_images_are_counted_by_language_and_split(tmp_path: Path) -> None:
    assert coverage(own(tmp_path), None) == {
        "en": {"train": 2, "val": 1, "test": 2},
        "sw": {"train": 1, "val": 1, "test": 0},
    }


def test_a_list_and_a_split_of_images_decide(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("image\na\nb\nd\ne\n")
    assert coverage(own(tmp_path), tmp_path / "list.csv")["en"] == {"train": 2, "val": 1, "test": 1}
    (tmp_path / "split.csv").write_text("image,split\na,test\nb,val\nc,train\n")
    found = coverage(own(tmp_path, split=str(tmp_path / "split.csv")), None)
    assert found == {"en": {"train": 0, "val": 1, "test": 1}, "sw": {"train": 1, "val": 0, "test": 0}}


def test_translated_captions_do_not_count_where_others_are_independent(tmp_path: Path) -> None:
    """One Swahili caption was written independently, so the translated ones are not the data set's own."""
    data = own(tmp_path, split=str(_split(tmp_path)))
    rows = [f"{image}.png,sw,moja {image},test,human,en" for image in "ef"] + ["e.png,sw,mbili,test,human,"]
    rows += ["a.png,en,one,train,human,", "a.png,en,one,train,google,", "d.png,en,four,val,human,"]
    Path(str(data.captions)).write_text(
        "image,language,caption,split,origin,source_language\n" + "\n".join(rows)
    )
    assert coverage(data, None)["sw"] == {"train": 0, "val": 0, "test": 1}


def _split(folder: Path) -> Path:
    (folder / "split.csv").write_text("image,split\na,train\nd,val\ne,test\nf,test\n")
    return folder / "split.csv"


def test_a_language_without_a_caption_of_its_origin_is_named(tmp_path: Path) -> None:
    data = own(tmp_path)
    Path(str(data.captions)).write_text(
        TABLE.replace("split", "split,origin")
        .replace("train", "train,google")
        .replace("val", "val,google")
        .replace("test", "test,google")
    )
    with pytest.raises(InputError, match=r"en: No captions with origin 'human'.*Set caption_origins: \{en:"):
        coverage(data, None)


def test_gaps_are_reported_with_what_to_do() -> None:
    counts = {"en": {"train": 0, "val": 5, "test": 5}, "sw": {"train": 0, "val": 5, "test": 0}}
    (message,) = missing_captions("mine", counts, languages=["en"][1:])
    assert message.startswith("datasets.mine: sw: no test image has a caption (found 0 train, 5 val, 0 test)")
    assert "take sw out of datasets.mine.languages" in message
    english, swahili = missing_captions("mine", counts, languages=["en", "sw"])
    assert "en: no train image" in english
    assert "sw: no train and no test image" in swahili
    assert list(missing_captions("mine", {"en": {"train": 1, "val": 1, "test": 1}}, ["en"])) == []
