"""What a job reads, asked of the plan without Snakemake, where tests/golden does not show it.

That is whatever depends on the user's data and settings, refusals, and what differs between languages and
experiments, of which a listing shows one.
"""

from pathlib import Path
from typing import Any

import pytest
from plans import ADDED, FACEBOOK, MSCOCO, MULTI30K, each, paper_plan, plan_of

from pipeline.common.errors import InputError
from pipeline.plan import captions, images, lessons, pages, sources, tables, training, translation, words
from pipeline.plan.code import code_of
from pipeline.plan.plan import Plan
from pipeline.stages import STAGES

TRANSLATED = ["de", "fr", "cs", *ADDED]  # languages that MSCOCO's English is translated into
CHINESE = "work/flickr8k/flickr8kcn"
GOOGLE = {"provider": "google"}
DICTIONARY = {"default": {"provider": "dictionary"}}


def own(**keys: Any) -> dict[str, Any]:
    """A data set of the user's."""
    return {"source": "custom", "captions": "c.csv", "images": "mine", "languages": ["en", "de"], **keys}


# --- Models: what they start from, features, code


def test_experiments_with_equal_settings_share_an_assignment(demo: Plan) -> None:
    """SMALR differs from HEM only in MCLM, and LA in the words with vectors of their own."""

    def weights(name: str, **changes: Any) -> str:
        plan = plan_of(experiments={name: changes}) if changes else demo
        return training.initial_weights(plan, "multi30k", name, 4)[0]

    smalr = weights("smalr")
    assert smalr == weights("smalr-hem") == weights("smalr", settings={"training": {"epochs": 9}})
    for other in (
        weights("smalr-la"),
        weights("smalr", vectors="muse"),
        weights("smalr", settings={"assignment": {"top_m": 5}}),
    ):
        assert other != smalr
    with pytest.raises(InputError, match=r"no experiment .* 0123456789"):
        training.assignment_inputs(demo, "multi30k", "0123456789")


def test_features_are_those_of_the_experiments_feature_set() -> None:
    two = plan_of(images={"sets": {"resnet50": {"backbone": "resnet50"}}})
    folder = "work/demo/multi30k"
    assert training.features(two, "multi30k", "bi-comparable") == f"{folder}/features-resnet50.h5"
    assert training.features(two, "multi30k", "mule-full") == f"{folder}/features.h5"
    assert [images.suffixes(two, imported) for imported in (False, True)] == ["(?:|-vgg|-resnet50)", "(?!)"]
    with pytest.raises(InputError, match="bi-comparable cannot be trained"):
        training.features(plan_of(images={"sets": {"resnet50": None}}), "multi30k", "bi-comparable")


def test_code_is_that_of_the_modules_that_an_experiment_uses(demo: Plan) -> None:
    """Models of the same parts share it; a stage has its own."""
    for stage in ("pretrain", "evaluate"):
        names = ("mule-full", "mule-nc", "smalr", "liwe-s-ten")
        found = [code_of(demo, STAGES[stage], "multi30k", name) for name in names]
        assert found[0] == found[1] and len({*found}) == 3
    split = {code_of(plan_of(scale=scale), STAGES["split"], "multi30k", "") for scale in ("demo", "paper")}
    assert len(split) == 2


def test_models_that_read_word_vectors_can_be_searched_with(demo: Plan) -> None:
    for experiment in ("mule-full", "mule-ten-pca-50"):
        model = training.searchable_model(demo, "multi30k", experiment, 4)
        assert model == f"work/demo/multi30k/experiments/{experiment}/seed4/model.pt"
    for experiment in ("bert-parallel-embn", "multi-comparable"):
        with pytest.raises(InputError, match=f"{experiment} cannot be searched with"):
            training.searchable_model(demo, "multi30k", experiment, 0)


# --- Words


def test_english_is_what_other_vectors_and_words_are_mapped_to(demo: Plan, paper: Plan) -> None:
    folder = "words/augmented"
    assert words.vocabularies(paper, "mscoco", "mule-ten-dictionary-5") == [
        f"work/paper/mscoco/{folder}/en.h5",
        *each(f"work/paper/mscoco/{folder}/dictionary-5/*.h5", [*MSCOCO[1:], *TRANSLATED]),
    ]
    folder, published = "work/demo/mscoco/words/human", plan_of(muse="file")
    aligned = words.vocabularies(demo, "mscoco", "muse-full")
    assert aligned == [f"{folder}/en.h5", *each(f"{folder}/muse/*.h5", ["zh", "ja"])]
    assert words.vocabularies(published, "mscoco", "muse-full") == each(f"{folder}/muse/*.h5", MSCOCO)
    with pytest.raises(InputError, match=r"wiki\.multi\.zh\.vec.* set muse to align"):
        words.word_vectors(paper, "multi30k", "zh", "muse/")


def test_without_own_training_captions_vectors_are_trained_on_translations(tmp_path: Path) -> None:
    table = tmp_path / "c.csv"
    lines = [f"{split}.png,{code},a dog,{split}" for split in ("val", "test") for code in ("en", "de")]
    table.write_text("\n".join(["image,language,caption,split", "a.png,en,a dog,train", *lines]))

    def plan(*experiments: str) -> Plan:
        rows = [{"row": row, "method": name, "experiment": name} for row, name in enumerate(experiments, 1)]
        mine = {"columns": {"mine": ["de"]}, "rows": rows}
        return plan_of(datasets={"mine": own(captions=str(table))}, tables={"mt": mine})

    translated = plan("mule-full-mt")
    captions.check_coverage(translated)
    assert words.word_vectors(translated, "mine", "de", "") == []
    assert words.word_vectors(translated, "mine", "en", "") == ["work/demo/mine/text/en.bin"]
    with pytest.raises(InputError, match="mine: de: no train image has a caption"):
        captions.check_coverage(plan("mule-full-mt", "mule-full-human+mt"))


# --- Translations


@pytest.mark.parametrize(
    ("dataset", "code", "origin"),
    [
        ("flickr8kcn", "ja", "google"),
        ("multi30k", "de", "human"),
        ("multi30k", "zh", "google"),
        ("multi30k", "ru", "dictionary"),
    ],
)
def test_captions_that_were_translated_keep_their_origin(
    flickr8k: Plan, dataset: str, code: str, origin: str
) -> None:
    """Flickr8K-CN's Japanese is Google's, as are the Chinese and Japanese that Multi30K borrows."""
    assert captions.caption_origin(flickr8k, dataset, code) == origin
    if origin != "dictionary" and dataset == "flickr8kcn":
        options = translation.translation(flickr8k, dataset, "", code, "en").options
        assert f"--source-origin={origin}" in options


def test_queries_reach_another_language_via_english(flickr8k: Plan) -> None:
    """Borrowed translations are numbered as in their data set, so queries are translated again."""
    folder = "work/flickr8k/multi30k/translations"
    onward = translation.translation(flickr8k, "multi30k", "queries/", "de", "ja")
    assert onward.source == "en"
    assert onward.inputs["sentences"] == [f"{folder}/de-en.csv"]
    assert onward.inputs["dictionaries"] == [f"{FACEBOOK}/arrival/dictionaries/en-ja.txt"]
    assert onward.options[1:] == ["--source-origin=google", "--splits", "val", "test"]
    asked = training.queries_in_every_language(flickr8k, "multi30k", "smalr")
    own_captions = each(f"{folder}/en-*.csv", ["de", "fr", "cs"])
    assert asked[:5] == [*own_captions, *each(f"{folder}/queries/en-*.csv", ["zh", "ja"])]
    assert len(asked) == 4 * 9  # four languages with captions, each into nine others
    published = training.queries_in_every_language(flickr8k, "flickr8kcn", "smalr")
    assert f"{CHINESE}/translations/en-zh.csv" in published  # Google's, of each English caption
    google = {"provider": "files", "origin": "google"}
    pairs = {"pairs": {"en-ja": google, "zh-en": google}}
    files = plan_of(scale="flickr8k", translation=DICTIONARY | pairs)
    onward = translation.translation(files, "flickr8kcn", "queries/", "zh", "ja")
    assert onward.provider == "dictionary"  # en-ja is of the English captions
    assert onward.options[1] == "--source-origin=google"


def test_translations_without_a_provider_are_refused(tmp_path: Path) -> None:
    """English into Japanese is borrowed for captions of scale flickr8k, but not for queries."""
    only_german = {"translation": {"default": None, "pairs": {"en-de": GOOGLE}}}
    with pytest.raises(InputError, match=r"(?s)names no provider.*multi30k.*en-fr"):
        training.queries_in_every_language(paper_plan(tmp_path, **only_german), "multi30k", "mule-full")
    flickr8k = plan_of(scale="flickr8k", **only_german)
    assert translation.translation(flickr8k, "multi30k", "", "en", "ja").provider == "files"
    with pytest.raises(InputError, match="translations en-ja of multi30k are of other captions"):
        _ = translation.translation(flickr8k, "multi30k", "queries/", "en", "ja").provider
    with pytest.raises(InputError, match=r"mule-full-human\+mt trains on translations"):
        mine = plan_of(datasets={"mine": own(languages=["de", "fr"])})
        training.translations(mine, "mine", "mule-full-human+mt")


def test_a_dictionary_is_the_users_the_demos_or_the_published_one(tmp_path: Path, paper: Plan) -> None:
    """Own data are translated by MUSE's."""
    (tmp_path / "en-de.txt").write_text("dog Hund\n")
    mine, both = plan_of(translation={"dictionaries": str(tmp_path)}), plan_of(datasets={"mine": own()})
    for pair in (("en", "de"), ("de", "en")):
        assert translation.dictionary(mine, "multi30k", *pair) == str(tmp_path / "en-de.txt")
    found = [translation.dictionary(both, dataset, "en", "de") for dataset in ("mine", "multi30k")]
    demo = "pipeline/demo/data/dictionaries/en-de.txt"
    assert found == [f"{FACEBOOK}/arrival/dictionaries/en-de.txt", demo]
    for dataset in both.settings.datasets:
        with pytest.raises(InputError, match="no dictionary of English and 'sw'"):
            translation.dictionary(both, dataset, "en", "sw")
    with pytest.raises(InputError, match=r"de-fr: .* English on one side"):
        translation.dictionary(paper, "multi30k", "de", "fr")


@pytest.mark.parametrize("gpu", [0, 1])
def test_a_marian_model_is_read_from_its_files_and_requests_a_gpu_as_configured(
    tmp_path: Path, gpu: int
) -> None:
    config = tmp_path / "opus-en-de/config.json"
    config.parent.mkdir()
    config.touch()
    marian = {"provider": "marian", "model": f"{tmp_path}/opus-{{source}}-{{target}}"}
    asked = plan_of(gpu=gpu, translation={"default": marian})
    found = translation.translation(asked, "multi30k", "", "en", "de")
    assert (found.inputs["model"], found.gpus, found.services) == ([str(config)], gpu, 0)


# --- Tables and reports


def test_a_comparison_and_a_table_have_what_they_name_or_say_why_not() -> None:
    plan = plan_of(seeds=[3, 4])
    compared = tables.compared_evaluations(plan, "multi30k", "embn", "mule-full")
    assert compared["first"] == [
        f"work/demo/multi30k/experiments/embn-{code}/seed{seed}/test-original.json"
        for code in MULTI30K
        for seed in (3, 4)
    ]
    with pytest.raises(InputError, match="did you mean 'mule-full'"):
        tables.compared_evaluations(plan, "multi30k", "embn", "mule-ful")
    columns = {
        "columns": {"multi30k": ["de"]},
        "rows": [{"row": 1, "method": "A", "experiment": "bilingual"}],
    }
    lacking = plan_of(tables={"own": columns}, images={"sets": {"resnet50": None}})
    with pytest.raises(InputError, match=r"results/own.csv: .*no features resnet50"):
        tables.table_evaluations(lacking, "own")
    fewer = plan_of(datasets={"multi30k": {"languages": ["en", "de"]}})  # than the four of Lessons' Table 1
    files = [f"work/demo/multi30k/tokens/{code}.csv" for code in ("en", "de")]
    assert tables.overlapping_text(fewer, "translation") == files


def test_a_report_has_what_its_tables_need() -> None:
    mine = {"columns": {"multi30k": ["de"]}, "rows": [{"row": 1, "method": "M", "experiment": "mule-full"}]}
    of_no_paper = plan_of(tables={"mine": mine}, report=["mine", "table1"])
    without, files = pages.judged_files(of_no_paper), pages.report_files(of_no_paper)
    assert without["claims"] == []
    assert files["claims"] == files["claim_comparisons"] == []
    plan = plan_of(report=["table2", "smalr/figure1b", "lessons/figure3"])
    judged, files = pages.judged_files(plan), pages.report_files(plan)
    assert judged["claims"] == each("config/claims/*.yaml", ["mule", "lessons", "smalr"])
    assert files["claims"] == ["results/claims.csv"]
    figures = ["smalr/figure1b.svg", "lessons/figure3.svg", "figure3.html"]
    assert files["figures"] == [f"results/{name}" for name in figures]


# --- Data: on request, archives, public files


def test_data_on_request_are_a_folder_or_an_archive_or_named_with_how_to_ask(tmp_path: Path) -> None:
    missing = {"flickr30k": str(tmp_path / "photographs"), "coco_cn": str(tmp_path / "nowhere")}
    lacking = plan_of(scale="paper", sources=missing)
    with pytest.raises(InputError, match="given on request"):
        captions.requested_of_split(lacking, "mscoco")
    with pytest.raises(InputError, match="given on request"):
        sources.own_folders(lacking, "multi30k")
    plan, folder = paper_plan(tmp_path), tmp_path / "coco-cn"
    requested = [str(folder), str(folder / "imageid.human-written-caption.txt")]
    assert captions.requested_of_split(plan, "mscoco") == requested
    assert captions.requested_of_captions(plan, "mscoco", "zh") == requested
    assert captions.requested_of_captions(plan, "mscoco", "ja") == []
    (folder / "coco-cn.tar.gz").touch()
    assert captions.requested_of_split(plan, "mscoco") == [str(folder / "coco-cn.tar.gz")]
    (folder / "another.zip").touch()  # which of them?
    assert captions.requested_of_split(plan, "mscoco")[0] == str(folder)


def test_a_backbone_that_timm_lacks_is_refused_and_another_one_takes_nothing_of_the_scale() -> None:
    """Weights, dimension, crop and resize of the scale belong to its own backbone."""
    plan = plan_of(images={"backbone": "resnet18"})
    images.check_backbones(plan)
    assert images.feature_settings(plan, "").as_values() == {
        **{"backbone": "resnet18", "weights": "timm", "crops": 10, "precision": "float32"}
    }
    for backbone, message in (("resnet51", "has no 'resnet51'"), ("resnet18.tv", "'resnet18.tv_in1k'")):
        with pytest.raises(InputError, match=message):
            images.check_backbones(plan_of(images={"backbone": backbone}))


def test_photographs_are_a_folder_or_an_archive_that_is_unpacked(tmp_path: Path) -> None:
    plan = paper_plan(tmp_path, datasets={"mine": own(images=str(tmp_path / "mine"))})
    assert sources.own_folders(plan, "multi30k") == [str(tmp_path / "flickr30k")]
    archive = tmp_path / "flickr30k/flickr30k-images.tar.gz"
    archive.touch()
    assert sources.unpacked_folders(plan, "multi30k") == ["work/photographs/own-multi30k"]
    assert sources.archives(plan, "own-multi30k") == [str(archive)]
    (tmp_path / "mine").mkdir()
    assert sources.own_folders(plan, "mine") == [str(tmp_path / "mine")]
    assert sources.unpacked_folders(plan, "mine") == []
    (tmp_path / "mine/photographs.zip").touch()
    assert sources.unpacked_folders(plan, "mine") == ["work/photographs/own-mine"]
    assert sources.own_folders(plan, "mine") == []
    assert sources.archives(plan, "own-mine") == [str(tmp_path / "mine/photographs.zip")]


@pytest.mark.parametrize(
    ("user", "folders"),
    [
        ({}, {"vectors-crawl", "vectors", "dictionaries"}),  # rows of smaller vocabularies
        ({"translation": {**DICTIONARY, "dictionaries": "work/mine"}}, {"vectors-crawl", "vectors"}),
        ({"muse": "align"}, {"vectors-crawl", "dictionaries"}),
        ({"words": {"vectors": "train"}}, {"vectors", "dictionaries"}),
    ],
)
def test_public_files_are_those_that_some_stage_reads(user: dict[str, Any], folders: set[str]) -> None:
    found = sources.public_files(plan_of(scale="paper", **user))
    assert {Path(path).parent.name for path in found if path.startswith(FACEBOOK)} == folders
    assert any("/task2/tok/train" in path for path in found)
    assert sum("/zips/" in path for path in found) == 2  # MSCOCO's photographs


def test_photographs_are_not_fetched_for_imported_features(demo: Plan) -> None:
    features = {"features": "mine/{dataset}.h5"}
    sets = {name: {**features, "dimension": 4096} for name in ("vgg", "resnet50")}
    imported = plan_of(scale="paper", images={**features, "sets": sets})
    assert not any("/zips/" in path for path in sources.public_files(imported))
    assert sources.public_files(demo) == []


# --- Lessons


@pytest.mark.parametrize(
    ("experiment", "parts", "paired"),
    [
        (
            "multi-comparable-c2c",
            ["comparable/en", "comparable/de", "translation/fr", "translation/cs"],
            False,
        ),
        ("multilingual-comparable-c2c-fr", ["comparable/en", "translation/en", "comparable/de"], False),
        # The public code pairs the captions of another sample, or of all images.
        ("bi-comparable-c2c-as-code", ["comparable/en", "comparable/de"], True),
        ("bi-overlap-c2c-as-code", ["comparable/en", "comparable/de"], True),
        ("bi-disjoint", ["comparable/en", "comparable/de"], False),
    ],
)
def test_lessons_selects_the_parts_of_its_experiments(
    tmp_path: Path, experiment: str, parts: list[str], paired: bool
) -> None:
    plan, folder = paper_plan(tmp_path), "work/paper/multi30k"
    read = lessons.selected_parts(plan, "multi30k", experiment)
    assert {f"{folder}/parts/{name}.csv" for name in parts} <= {*read}
    languages = plan.experiment("multi30k", experiment).languages
    pairs = each(f"{folder}/selected/{experiment}/pairs-*.csv", languages) if paired else []
    assert lessons.selected_pairs(plan, "multi30k", experiment) == pairs


def test_captions_are_selected_from_the_parts_that_are_trained_on_and_tested_on() -> None:
    paths = lessons.selected_parts(plan_of(scale="flickr8k"), "multi30k", "bi-translation")
    names = ["comparable/en", "translation/en", "comparable/de", "translation/de"]
    assert [f"{Path(path).parent.name}/{Path(path).stem}" for path in paths] == names
