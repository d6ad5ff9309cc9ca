"""MSCOCO 2014 in three languages: the reader and the split, on miniature files in the published layouts."""

import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import published
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import cli
from pipeline.common.errors import InputError
from pipeline.datasets.sampling import sampled_split
from pipeline.datasets.select import original_captions
from pipeline.datasets.source import Inputs, SourceKeys, StageKeys
from pipeline.datasets.sources.mscoco import ENGLISH, LANGUAGES, SOURCE, mscoco_captions, read_images
from pipeline.datasets.split import read_split
from pipeline.datasets.table import caption_table, read_captions
from pipeline.stages import STAGES

IMAGES = {
    "COCO_train2014_000000000009": "en ja zh",
    "COCO_train2014_000000000025": "en ja zh",
    "COCO_train2014_000000000030": "en ja",
    "COCO_val2014_000000000042": "en zh",
    "COCO_val2014_000000000073": "en",
}
NINE = "COCO_train2014_000000000009"
KEYS = StageKeys(source="mscoco")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    published.write_mscoco(tmp_path, IMAGES)
    return tmp_path


def images(sources: Path) -> tuple[list[str], set[str]]:
    return read_images(Inputs(sources, sources / published.COCO_CN))


def read(sources: Path, coco_cn: Path | None = None) -> pd.DataFrame:
    """Captions of all images in all languages."""
    inputs = Inputs(sources, coco_cn or sources / published.COCO_CN)
    split = dict.fromkeys(read_images(inputs)[0], "train")
    return pd.concat(caption_table(mscoco_captions(KEYS, inputs, language, split)) for language in LANGUAGES)


def counts(table: pd.DataFrame) -> dict[tuple[str, str], int]:
    return dict(table.groupby(["language", "source_language"]).size())


def test_captions_of_three_languages_by_image(sources: Path) -> None:
    table = read(sources)
    assert counts(table) == {("en", ""): 25, ("ja", ""): 15, ("zh", ""): 4, ("zh", "en"): 5}
    for _, of_language in table.groupby("language"):
        assert list(of_language["image"]) == sorted(of_language["image"])
    assert set(table["origin"]) == {"human"} and set(table["split"]) == {"train"}
    nine = table[(table["image"] == NINE) & (table["source_language"] == "")]
    assert list(nine["caption"]) == [
        *(published.caption(NINE, language, number) for language in ("en", "ja") for number in range(5)),
        *(published.caption(NINE, "zh", number) for number in range(2)),
    ]
    assert images(sources) == (list(IMAGES), {NINE, "COCO_train2014_000000000025"})


def test_translations_are_not_independent_captions(sources: Path) -> None:
    table = read(sources)
    chinese = original_captions(table[table["language"] == "zh"], "human")
    assert len(chinese) == 4 and set(chinese["source_language"]) == {""}
    folder = sources / "coco-cn"
    folder.mkdir()
    lines = {"human-written": "COCO_val2014_000000000042#0\t猫", "manually-translated": f"{NINE}#0\t狗"}
    for kind, line in lines.items():
        (folder / f"imageid.{kind}-caption.txt").write_text(line, encoding="utf-8")
    assert read_images(Inputs(sources, folder))[1] == set()


@pytest.mark.parametrize("form", ["folder", "deep folder", "zip"])
def test_coco_cn_may_be_unpacked_or_in_another_kind_of_archive(sources: Path, form: str) -> None:
    expected = read(sources)
    unpacked = sources / "unpacked" / "some" / "where"
    shutil.unpack_archive(sources / published.COCO_CN, unpacked, "gztar")
    given = unpacked / "coco-cn-version1805v1.1" if form == "folder" else sources / "unpacked"
    if form == "zip":
        given = Path(shutil.make_archive(str(sources / "coco-cn"), "zip", given))
    pd.testing.assert_frame_equal(read(sources, given), expected)


def _annotations(path: Path) -> dict[str, dict[str, list[dict[str, object]]]]:
    with zipfile.ZipFile(path) as file:
        return {name: json.loads(file.read(name)) for name in file.namelist()}


def _rewrite(path: Path, contents: dict[str, dict[str, list[dict[str, object]]]]) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            file.writestr(name, json.dumps(content))


def test_neither_table_nor_split_depends_on_the_order_in_the_files(sources: Path) -> None:
    expected, drawable = read(sources), images(sources)[1]
    contents = _annotations(sources / ENGLISH)
    for content in contents.values():
        for listed in content.values():
            random.Random(1).shuffle(listed)
    _rewrite(sources / ENGLISH, dict(reversed(contents.items())))
    pd.testing.assert_frame_equal(read(sources), expected)
    assert sampled_split(images(sources)[1], 1, 1, 7) == sampled_split(drawable, 1, 1, 7)


@pytest.mark.parametrize(
    "line",
    [
        "COCO_val2014_000000000042#3\t一只猫",
        "COCO_val2014_000000000042#3  一只猫 ",
        "COCO_val2014_000000000042#zhm#3\t一只猫\r",
        "COCO_val2014_000000000042.jpg#zhc#3\t一只猫",
    ],
)
def test_variants_of_a_line_of_coco_cn(sources: Path, line: str) -> None:
    folder = sources / "coco-cn"
    folder.mkdir()
    (folder / "imageid.human-written-caption.txt").write_text(line + "\n", encoding="utf-8", newline="")
    (folder / "imageid.manually-translated-caption.txt").write_text(f"{NINE}#0\t狗", encoding="utf-8")
    table = read(sources, folder)
    own = table[(table["language"] == "zh") & (table["source_language"] == "")]
    assert own[["image", "caption"]].to_numpy().tolist() == [["COCO_val2014_000000000042", "一只猫"]]


def test_breaks_become_blanks_and_empty_captions_are_counted(
    sources: Path, caplog: pytest.LogCaptureFixture
) -> None:
    contents = _annotations(sources / ENGLISH)
    annotations = contents["annotations/captions_train2014.json"]["annotations"]
    annotations[0]["caption"], annotations[1]["caption"] = " A dog\nruns. ", " \n"
    _rewrite(sources / ENGLISH, contents)
    table = read(sources)
    assert table["caption"].iloc[0] == "A dog runs." and len(table) == 48
    assert "1 of 25 captions have no text" in caplog.text


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (b"no caption", r"human-written-caption\.txt, line 1: cannot be read: 'no caption'"),
        (f"{NINE}#0\t\u72d7".encode("gbk"), r"human-written-caption\.txt in UTF-8"),
        (None, r"coco-cn: holds no imageid\.human-written-caption\.txt"),
    ],
)
def test_other_files_of_coco_cn_are_named(sources: Path, own: bytes | None, message: str) -> None:
    folder = sources / "coco-cn"
    folder.mkdir()
    (folder / "imageid.manually-translated-caption.txt").touch()
    if own is not None:
        (folder / "imageid.human-written-caption.txt").write_bytes(own)
    with pytest.raises(InputError, match=message):
        read_images(Inputs(sources, folder))


def test_a_language_needs_no_file_of_another_and_leaves_out_images_of_no_split(sources: Path) -> None:
    (sources / ENGLISH).unlink()
    (sources / published.COCO_CN).unlink()
    table = caption_table(
        mscoco_captions(KEYS, Inputs(sources), "ja", {NINE: "val", "COCO_val2014_000000000042": "train"})
    )
    assert table[["image", "split"]].drop_duplicates().to_numpy().tolist() == [[NINE, "val"]]
    assert list(table["caption"]) == [published.caption(NINE, "ja", number) for number in range(5)]
    with pytest.raises(InputError, match="MSCOCO has no captions in 'de'; it has en, ja, zh"):
        mscoco_captions(KEYS, Inputs(sources), "de", {NINE: "train"})
    with pytest.raises(InputError, match="--requested is missing, the path of COCO-CN"):
        mscoco_captions(KEYS, Inputs(sources), "zh", {NINE: "train"})


NAMES = st.sets(st.integers(0, 999_999).map(lambda number: f"COCO_train2014_{number:012d}"), min_size=2)


@given(images=NAMES, seed=st.integers(0, 2**32 - 1), data=st.data())
def test_a_sampled_split_is_disjoint_repeatable_and_independent_of_order(
    images: set[str], seed: int, data: st.DataObject
) -> None:
    test = data.draw(st.integers(1, len(images) - 1))
    val = data.draw(st.integers(1, len(images) - test))
    split = sampled_split(images, test, val, seed)
    assert set(split) <= images
    assert sorted(split.values()) == ["test"] * test + ["val"] * val
    assert split == sampled_split(sorted(images, reverse=True), test, val, seed)


def test_another_seed_samples_other_images() -> None:
    images = [str(number) for number in range(100)]
    assert sampled_split(images, 10, 10, 0) != sampled_split(images, 10, 10, 1)


def test_too_few_images_to_sample_from_are_counted() -> None:
    with pytest.raises(InputError, match=r"3 test and 3 validation images .* only 5 to sample from"):
        sampled_split(["1", "2", "3", "4", "5"], 3, 3, 0)


def run(stage: str, *arguments: object) -> None:
    cli.run(STAGES[stage], list(map(str, arguments)))


def test_the_stages_write_a_reusable_split_and_the_captions(tmp_path: Path) -> None:
    described = published.write_everything(tmp_path, dimension=4)
    split, again = tmp_path / "made" / "split.csv", tmp_path / "again" / "split.csv"
    asked = ["--sources", tmp_path, "--requested", described["coco_cn"]]
    run("split", *asked, "--settings", mscoco(sample_size=8), "--output", split)
    names = read_split(split)
    assert pd.Series(names).value_counts().to_dict() == {"train": 44, "test": 8, "val": 8}
    run("split", *asked, "--settings", mscoco(split=str(split)), "--output", again)
    assert again.read_bytes() == split.read_bytes()
    asked += ["--settings", mscoco(), "--language", "ja", "--split", split]
    run("read-captions", *asked, "--output", tmp_path / "made" / "ja.csv")
    table = read_captions(tmp_path / "made" / "ja.csv")
    assert set(table["language"]) == {"ja"} and table["image"].nunique() == 42
    assert list(table["split"]) == [names[image] for image in table["image"]]


def test_a_list_of_images_restricts_before_sampling(tmp_path: Path) -> None:
    published.write_mscoco(tmp_path)
    listed = list(published.mscoco_images())[:10]
    (tmp_path / "images.csv").write_text("\n".join(["image", *listed]) + "\n")
    asked = ["--sources", tmp_path, "--requested", tmp_path / published.COCO_CN]
    asked += ["--image-list", tmp_path / "images.csv", "--output", tmp_path / "split.csv"]
    run("split", *asked, "--settings", mscoco(sample_size=3))
    split = read_split(tmp_path / "split.csv")
    assert list(split) == listed
    assert pd.Series(split).value_counts().to_dict() == {"train": 4, "test": 3, "val": 3}
    with pytest.raises(InputError, match="there are only 10 to sample from"):
        run("split", *asked, "--settings", mscoco(sample_size=1000))


def mscoco(**keys: Any) -> str:
    return json.dumps({"source": "mscoco", **keys})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (mscoco(), ["source mscoco needs split or sample_size"]),
        ('{"source": "multi30k", "split": "x"}', ["found 'x', expected multi30k or flickr8k"]),
        (mscoco(sample_size=0, split_seed="x"), ["sample_size: found 0", "split_seed: found 'x'"]),
        ('{"source": "cocoa"}', ["source: found 'cocoa', expected demo, custom"]),
        ('{"source": "demo"}', ["source demo needs dataset"]),
        ('{"sample_size": 3, "size": 3}', ["source: Field required", "unknown key 'size'"]),
        ("[]", ["expected an object"]),
        ("{", ["--settings: not JSON"]),
    ],
)
def test_settings_that_do_not_fit_are_reported_together(
    settings: str, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((InputError, SystemExit)) as error:
        run("split", "--settings", settings, "--output", "c")
    message = f"{error.value} {capsys.readouterr().err}"
    assert [part for part in told if part not in message] == [], message


def test_a_split_depends_on_no_key_that_does_not_decide_it() -> None:
    """So that an edit of another key samples no split again."""
    keys = SourceKeys(source="mscoco", images="mscoco", sample_size=3, split_seed=0)
    assert keys.only(SOURCE.split_keys).as_values() == {"source": "mscoco", "sample_size": 3, "split_seed": 0}
    lists = SourceKeys(**keys.as_values(), split="x").only(SOURCE.split_keys)
    assert lists.as_values() == {"source": "mscoco", "split": "x"}
    assert keys.only(SOURCE.caption_keys).as_values() == {"source": "mscoco"}
