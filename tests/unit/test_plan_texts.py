"""Which splits, captions and parts of captions a job reads, and with which settings."""

import re
from pathlib import Path
from typing import Any

import pytest
from plans import FACEBOOK, MSCOCO, MULTI30K, each, paper_plan, plan_of

from pipeline.common.errors import InputError
from pipeline.plan import captions, images, lessons, sources, training
from pipeline.plan.plan import Plan

OWN = {"source": "custom", "captions": "mine/captions.csv", "images": "mine", "languages": ["en", "sw"]}


@pytest.fixture(scope="module")
def on_request(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on-request")


@pytest.fixture(scope="module")
def resampled(on_request: Path) -> Plan:
    return paper_plan(
        on_request,
        lessons={"sampling_seed": 5, "min_count": 6},
        datasets={"mscoco": {"split_seed": 7, "sample_size": 12}},
    )


def names(paths: list[str]) -> list[str]:
    return [Path(path).name for path in paths]


def test_mscocos_split_and_chinese_are_read_from_the_data_on_request(
    resampled: Plan, on_request: Path
) -> None:
    """The folder comes first; a file that is overwritten does not change the folder's time."""
    folder = on_request / "coco-cn"
    requested = [str(folder), str(folder / "imageid.human-written-caption.txt")]
    assert captions.requested_of_split(resampled, "mscoco") == requested
    assert captions.requested_of_split(resampled, "multi30k") == []
    assert captions.requested_of_captions(resampled, "mscoco", "zh") == requested
    for code in ("en", "ja"):
        assert captions.requested_of_captions(resampled, "mscoco", code) == []


def test_data_on_request_may_be_an_archive(tmp_path: Path) -> None:
    plan = paper_plan(tmp_path)
    (tmp_path / "coco-cn/coco-cn.tar.gz").touch()
    assert captions.requested_of_split(plan, "mscoco") == [str(tmp_path / "coco-cn/coco-cn.tar.gz")]
    (tmp_path / "coco-cn/another.zip").touch()  # which of them?
    assert captions.requested_of_split(plan, "mscoco")[0] == str(tmp_path / "coco-cn")


def test_missing_data_on_request_are_named_with_how_to_ask(tmp_path: Path) -> None:
    missing = {"flickr30k": str(tmp_path / "photographs"), "coco_cn": str(tmp_path / "coco-cn")}
    plan = plan_of(scale="paper", sources=missing)
    with pytest.raises(InputError, match="given on request") as caught:
        captions.requested_of_split(plan, "mscoco")
    assert missing["coco_cn"] in str(caught.value) and "sources.coco_cn" in str(caught.value)
    with pytest.raises(InputError, match="given on request"):
        sources.image_folders(plan, "multi30k")
    (tmp_path / "coco-cn").mkdir()
    assert captions.requested_of_split(plan, "mscoco") == [missing["coco_cn"]]


def test_captions_are_read_from_the_published_files_of_their_language(
    resampled: Plan, flickr8k: Plan
) -> None:
    for code in MULTI30K:
        texts = [path for path in captions.caption_sources(resampled, "multi30k", code) if ".txt" not in path]
        assert texts and all(re.search(rf"/task[12]/raw/[\w.]+\.{code}\.gz$", path) for path in texts)
    assert names(captions.caption_sources(resampled, "mscoco", "ja")) == ["yjcaptions26k.zip"]
    assert captions.caption_sources(resampled, "mscoco", "zh") == []  # on request
    both = plan_of(datasets={"mine": {**OWN, "captions": "mine/{language}.csv", "split": "mine/split.csv"}})
    assert captions.caption_sources(both, "mine", "sw") == ["mine/sw.csv"]
    assert captions.all_splits(flickr8k) == [f"work/flickr8k/{name}/split.csv" for name in flickr8k.datasets]
    assert captions.own_tokens(flickr8k, "flickr8kcn") == each(
        "work/flickr8k/flickr8kcn/tokens/*.csv", MSCOCO
    )


def test_each_data_set_has_its_own_photographs(resampled: Plan, on_request: Path) -> None:
    assert sources.image_folders(resampled, "mscoco") == [
        "work/photographs/train2014",
        "work/photographs/val2014",
    ]
    assert sources.image_folders(resampled, "multi30k") == [str(on_request / "flickr30k")]
    assert sources.image_folders(plan_of(), "multi30k") == ["work/demo/multi30k/images"]
    assert [images.flickr_names(resampled, name) for name in ("multi30k", "mscoco")] == ["--flickr-names", ""]
    assert "given on request" in sources.missing_hint(resampled, "multi30k")
    assert sources.missing_hint(resampled, "mscoco") == ""
    assert images.image_list(resampled, "mscoco") == ["work/paper/mscoco/images.csv"]


def test_an_archive_of_photographs_is_unpacked(tmp_path: Path) -> None:
    plan = paper_plan(tmp_path, datasets={"mine": {**OWN, "images": str(tmp_path / "mine")}})
    archive = tmp_path / "flickr30k/flickr30k-images.tar.gz"
    archive.touch()
    assert sources.image_folders(plan, "multi30k") == ["work/photographs/flickr30k"]
    assert sources.archives(plan, "flickr30k") == [str(archive)]
    assert sources.archives(plan, "val2014") == ["work/sources/images.cocodataset.org/zips/val2014.zip"]
    assert names(sources.archives(plan, "flickr8k")) == ["Flickr8k_Dataset.zip"]
    assert sources.image_folders(plan, "mine") == [str(tmp_path / "mine")]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/photographs.zip").touch()
    assert sources.image_folders(plan, "mine") == ["work/photographs/own-mine"]
    assert sources.archives(plan, "own-mine") == [str(tmp_path / "mine/photographs.zip")]
    (tmp_path / "mine/more").mkdir()
    (tmp_path / "mine/more/a.jpg").touch()
    with pytest.raises(InputError, match=r"mine has archives, such as .*zip, and next to them photographs"):
        sources.image_folders(plan, "mine")


def test_the_public_files_are_those_of_the_configured_vectors_and_dictionaries(resampled: Plan) -> None:
    def folders(plan: Plan) -> set[str]:
        found = sources.public_files(plan)
        patterns = {name: f"{FACEBOOK}/{path}" for name, path in (
            ("fasttext", "fasttext/vectors-crawl/"), ("muse", "arrival/vectors/"),
            ("dictionaries", "arrival/dictionaries/"))}  # fmt: skip
        return {name for name, start in patterns.items() if any(path.startswith(start) for path in found)}

    assert folders(resampled) == {"fasttext", "muse", "dictionaries"}
    assert folders(plan_of(scale="paper")) == {"fasttext", "muse"}  # nothing is translated by a dictionary
    assert folders(plan_of(scale="paper", muse="align")) == {"fasttext", "dictionaries"}
    assert folders(plan_of(scale="paper", words={"vectors": "train"})) == {"muse"}
    own = {"default": {"provider": "dictionary"}, "dictionaries": "work/mine"}
    assert folders(plan_of(scale="paper", translation=own)) == {"fasttext", "muse"}
    assert sources.public_files(plan_of()) == []
    assert sources.public_files(resampled) == sorted(set(sources.public_files(resampled)))


@pytest.mark.parametrize(
    ("experiment", "language", "texts", "tested_on", "half"),
    [
        ("multi-comparable-c2c", "de", ["drawn/1-seed5/comparable"], "comparable", None),
        ("bi-comparable-c2c-as-code", "en", ["drawn/1-seed5/comparable"], "comparable", None),
        ("multi-comparable-c2c", "fr", ["translation"], "translation", None),
        ("multilingual-comparable-c2c-fr", "en", ["translation", "comparable"], "comparable", None),
        ("multilingual-comparable-c2c-fr", "cs", ["translation"], "translation", None),
        ("bi-overlap-c2c-as-code", "de", ["comparable"], "comparable", ("halves-seed5-de", "first")),
        ("bi-disjoint", "en", ["comparable"], "comparable", ("halves-seed5", "first")),
        ("bi-disjoint", "de", ["comparable"], "comparable", ("halves-seed5", "second")),
    ],
)
def test_lessons_selects_the_parts_of_its_experiments(
    resampled: Plan, experiment: str, language: str, texts: list[str], tested_on: str, half: Any
) -> None:
    folder = "work/paper/multi30k"
    selected = lessons.selection(resampled, "multi30k", experiment)
    drawn, which = half or (None, "first")
    # The public code pairs the captions of all images, or of another sample.
    pairs = {"bi-overlap-c2c-as-code": "comparable", "bi-comparable-c2c-as-code": "drawn/1-seed6/comparable"}
    paired = pairs.get(experiment)
    of_language = {
        "texts": [f"{folder}/parts/{part}/{language}.csv" for part in texts],
        "tested_on": f"{folder}/parts/{tested_on}/{language}.csv",
        **({"halves": f"{folder}/drawn/{drawn}.csv"} if drawn else {}),
        "half": which,
        **({"pair_texts": [f"{folder}/parts/{paired}/{language}.csv"]} if paired else {}),
    }
    assert selected.as_values()["languages"][language] == of_language
    read = lessons.selected_texts(resampled, "multi30k", experiment)
    assert {*of_language["texts"], of_language["tested_on"], *of_language.get("pair_texts", [])} <= {*read}
    assert (f"{folder}/drawn/{drawn}.csv" in read) == bool(drawn)
    assert selected.min_count == 6
    assert training.features(resampled, "multi30k", experiment) == f"{folder}/features-resnet50.h5"
    languages, chosen = list(selected.languages), f"{folder}/selected/{experiment}"
    assert lessons.selected_words(resampled, "multi30k", experiment) == each(f"{chosen}/*.h5", languages)
    assert lessons.selected_sentences(resampled, "multi30k", experiment) == each(f"{chosen}/*.csv", languages)
    assert lessons.selected_pairs(resampled, "multi30k", experiment) == (
        each(f"{chosen}/pairs-*.csv", languages) if paired else []
    )
