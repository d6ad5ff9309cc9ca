"""The miniature published files that other tests read: always the same, and whole."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import published
import pytest
from PIL import Image

from pipeline.datasets.published import PublishedFiles
from pipeline.datasets.sources.mscoco import ENGLISH, JAPANESE, LANGUAGES, mscoco_captions, read_images
from pipeline.datasets.sources.multi30k import FOLDER, multi30k_captions, multi30k_split
from pipeline.datasets.table import caption_table
from pipeline.datasets.tokenize import tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    published.write_everything(folder)
    return folder


@pytest.mark.extended
def test_the_bytes_are_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    described = published.write_everything(tmp_path)
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 60
    assert all((tmp_path / path).read_bytes() == (folder / path).read_bytes() for path in files)
    assert described["coco_cn"] == tmp_path / "on-request/coco-cn/coco-cn-version1805v1.1.tar.gz"


def test_the_files_are_where_the_readers_look() -> None:
    assert (published.MULTI30K, published.ANNOTATIONS, published.JAPANESE) == (FOLDER, ENGLISH, JAPANESE)


def test_multi30k_has_sixty_images(folder: Path) -> None:
    split = multi30k_split(PublishedFiles(folder), "multi30k")
    assert pd.Series(split).value_counts().to_dict() == {"train": 40, "val": 10, "test": 10}
    counts = {
        language: len(caption_table(multi30k_captions(folder, language, split)))
        for language in ("en", "de", "fr", "cs")
    }
    assert counts == {"en": 300, "de": 300, "fr": 60, "cs": 60}


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


@pytest.mark.parametrize("language", published.LANGUAGES)
def test_vectors_and_dictionaries_cover_the_captions(folder: Path, language: str) -> None:
    facebook = folder / "dl.fbaipublicfiles.com"
    path = facebook / f"fasttext/vectors-crawl/cc.{language}.300.vec.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert lines[0] == f"{len(lines) - 1} 300" and {len(line.split(" ")) for line in lines[1:]} == {301}
    words = {line.split(" ")[0] for line in lines[1:]}
    split = tokenizer(language)
    for image in published.mscoco_images():
        tokens = split(published.caption(image, language, 2))
        assert set(tokens) <= words
        nouns = {published.THINGS[language][thing].split()[-1].lower() for thing in published.things(image)}
        assert nouns <= set(tokens)
    if language != "en":
        pairs = (
            (facebook / f"arrival/dictionaries/en-{language}.txt").read_text(encoding="utf-8").splitlines()
        )
        assert len(pairs) == 8 and {pair.split(" ")[1] for pair in pairs} <= words


def test_photographs_open_and_have_their_published_paths(folder: Path) -> None:
    with tarfile.open(folder / published.FLICKR30K_PHOTOGRAPHS) as archive:
        assert archive.getnames() == [f"flickr30k-images/{image}.jpg" for image in published.FLICKR30K]
    for part, count in (("train2014", 50), ("val2014", 10)):
        with zipfile.ZipFile(folder / f"images.cocodataset.org/zips/{part}.zip") as file:
            names = file.namelist()
            pictures = [Image.open(io.BytesIO(file.read(name))) for name in names]
        assert len(names) == count and all(name.startswith(f"{part}/COCO_{part}_0000") for name in names)
        assert {(picture.format, picture.mode, picture.size) for picture in pictures} == {
            ("JPEG", "RGB", (64, 48))
        }
