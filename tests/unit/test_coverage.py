"""A user's own captions cover every split in every language, or it is said what they lack."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.captions.coverage import coverage, few_tested, gaps

# Three images each are for training and validation, two for testing; Swahili has no test captions.
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


def own(folder: Path, **changes: Any) -> dict[str, Any]:
    (folder / "captions.csv").write_text(TABLE)
    return {"captions": str(folder / "captions.csv"), "languages": ["en", "sw"], **changes}


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


def test_a_file_for_each_language_counts_that_language(tmp_path: Path) -> None:
    for language in ("en", "sw"):
        (tmp_path / f"{language}.csv").write_text(TABLE)
    (tmp_path / "split.csv").write_text("image,split\na,train\nd,val\ne,test\n")
    changes = {"captions": str(tmp_path / "{language}.csv"), "split": str(tmp_path / "split.csv")}
    assert coverage(own(tmp_path, **changes), None) == {
        "en": {"train": 1, "val": 1, "test": 1},
        "sw": {"train": 0, "val": 1, "test": 0},
    }


def test_what_is_missing_is_said_with_what_to_do() -> None:
    counts = {"en": {"train": 0, "val": 5, "test": 5}, "sw": {"train": 0, "val": 5, "test": 0}}
    (said,) = gaps("mine", counts, trained=["en"][1:])
    assert said.startswith("datasets.mine: sw: no test image has a caption (found 0 train, 5 val, 0 test)")
    assert "take sw out of datasets.mine.languages" in said
    english, swahili = gaps("mine", counts, trained=["en", "sw"])
    assert "en: no train image" in english
    assert "sw: no train and no test image" in swahili
    assert list(gaps("mine", {"en": {"train": 1, "val": 1, "test": 1}}, ["en"])) == []


@pytest.mark.parametrize(("test", "warned"), [(49, True), (50, False), (10, True)])
def test_a_small_test_set_is_warned_of(test: int, warned: bool) -> None:
    found = list(few_tested("mine", {"en": {"train": 900, "val": 9, "test": test}}))
    assert bool(found) == warned
    if warned:
        assert f"fewer than 50 test images (en {test})" in found[0]
        assert f"R@1 by {100 / test:.0f} points" in found[0]
