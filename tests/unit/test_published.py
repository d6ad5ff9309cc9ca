"""The miniature published files that other tests read: always the same, and whole."""

from pathlib import Path

import pandas as pd
import published
import pytest

from pipeline.datasets.sources.mscoco import LANGUAGES, mscoco_captions, read_images
from pipeline.datasets.table import caption_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    published.write_everything(folder)
    return folder


def test_the_bytes_are_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    described = published.write_everything(tmp_path)
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 60
    assert all((tmp_path / path).read_bytes() == (folder / path).read_bytes() for path in files)
    assert described["coco_cn"] == tmp_path / "on-request/coco-cn/coco-cn-version1805v1.1.tar.gz"


def test_mscoco_has_every_group_of_languages(folder: Path) -> None:
    found = read_images(folder, folder / published.COCO_CN)
    split = dict.fromkeys(found.with_captions, "train")
    read = (
        caption_table(mscoco_captions(folder, folder / published.COCO_CN, language, split))
        for language in LANGUAGES
    )
    table = pd.concat(read)
    groups = table.groupby("image")["language"].agg(lambda codes: " ".join(sorted(set(codes))))
    assert groups.value_counts().to_dict() == {"en ja zh": 34, "en zh": 9, "en": 9, "en ja": 8}
    assert len(found.in_all) == 34
    japanese = table["image"][table["language"] == "ja"]
    assert japanese.str.startswith("COCO_train2014_").all()
    assert table["image"].str.startswith("COCO_val2014_").any()
