"""What a job reads, asked of the plan without Snakemake; further questions are in test_plan_*.py."""

import re
from pathlib import Path

import pytest
from plans import plan_of

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.plan import (
    captions,
    images,
    lessons,
    pages,
    sources,
    tables,
    training,
    translation,
    words,
)
from pipeline.plan.plan import Plan


@pytest.fixture(scope="module")
def bare_paper() -> Plan:
    return plan_of(scale="paper")


def test_a_job_that_reads_evaluations_reads_their_ranks_too(demo: Plan) -> None:
    compared = tables.compared_evaluations(demo, "mscoco", "mule-full", "parallel-embn")
    both = {"evaluations": compared["first"] + compared["second"], "ranks": compared["ranks"]}
    table, claims = tables.table_evaluations(demo, "table4"), pages.claim_evaluations(demo)
    for files in (table, claims, both):
        assert files["evaluations"]
        of_evaluations = [path.replace(".json", "-ranks.csv.gz") for path in files["evaluations"]]
        assert files["ranks"] == of_evaluations


def test_experiments_with_equal_settings_share_an_assignment(demo: Plan) -> None:
    """SMALR differs from HEM only in MCLM, and LA in the words with vectors of their own."""
    found = {
        name: training.initial_weights(demo, "multi30k", name, 4)[0]
        for name in ("smalr", "smalr-hem", "smalr-la")
    }
    assert found["smalr"] == found["smalr-hem"] != found["smalr-la"]
    place = re.fullmatch(r"work/demo/multi30k/assignments/([0-9a-f]{10})/seed4/entries[.]pt", found["smalr"])
    assert place
    settings = training.assignment_settings(demo, "multi30k", place[1], 4)
    assert (settings.experiment, settings.seed) == (place[1], 4)
    files = training.assignment_inputs(demo, "multi30k", place[1])
    assert files["words"] == words.vocabularies(demo, "multi30k", "smalr")
    assert files["translations"] == training.translations(demo, "multi30k", "smalr")
    with pytest.raises(InputError, match="no experiment on multi30k has the assignment 0123456789"):
        training.assignment_inputs(demo, "multi30k", "0123456789")


def test_other_vectors_or_settings_need_another_assignment(demo: Plan) -> None:
    of = training.initial_weights(demo, "multi30k", "smalr", 0)
    for changes in ({"vectors": "muse"}, {"settings": {"assignment": {"top_m": 5}}}):
        other = training.initial_weights(plan_of(experiments={"smalr": changes}), "multi30k", "smalr", 0)
        assert other != of
    same = plan_of(experiments={"smalr": {"settings": {"training": {"epochs": 9}}}})
    assert training.initial_weights(same, "multi30k", "smalr", 0) == of


def test_a_model_is_trained_with_its_seed(demo: Plan) -> None:
    assert configuration.experiment_settings(demo.settings, "multi30k", "mule-full", 7).seed == 7


def test_translations_are_those_that_an_experiment_trains_on(demo: Plan) -> None:
    pairs = [f"{code}-en" for code in ("zh", "ja")] + [f"en-{code}" for code in ("zh", "ja")]
    assert training.translations(demo, "mscoco", "mule-full-human+mt") == [
        f"work/demo/mscoco/translations/{pair}.csv" for pair in pairs
    ]
    assert training.translations(demo, "mscoco", "mule-full") == []


def test_data_sets_are_known_by_what_their_source_reads(demo: Plan, bare_paper: Plan) -> None:
    assert captions.datasets_from(demo, "demo") == "multi30k|mscoco"
    assert captions.datasets_read_by(demo, "read_split") == "(?!)"
    assert captions.datasets_read_by(bare_paper, "read_split") == "multi30k|mscoco"


def test_features_are_those_of_the_experiments_feature_set() -> None:
    two = plan_of(images={"sets": {"resnet50": {"backbone": "resnet50"}}})
    assert (
        training.features(two, "multi30k", "multi-comparable-c2c")
        == "work/demo/multi30k/features-resnet50.h5"
    )
    assert training.features(two, "multi30k", "mule-full") == "work/demo/multi30k/features.h5"
    assert images.extracted_sets(two) == "(?:|-vgg|-resnet50)"
    assert images.imported_sets(two) == "(?!)"
    with pytest.raises(InputError, match="multi-comparable-c2c cannot be trained"):
        training.features(plan_of(images={"sets": {"resnet50": None}}), "multi30k", "multi-comparable-c2c")


def test_a_users_dictionary_replaces_the_demos(tmp_path: Path) -> None:
    (tmp_path / "en-de.txt").write_text("dog Hund\n")
    mine = plan_of(translation={"dictionaries": str(tmp_path)})
    for pair in (("en", "de"), ("de", "en")):
        assert translation.dictionary(mine, "multi30k", *pair) == str(tmp_path / "en-de.txt")


def test_vocabularies_are_compared_in_the_languages_of_the_data() -> None:
    """Lessons' Table 1 compares four; here two have captions."""
    fewer = plan_of(datasets={"multi30k": {"languages": ["en", "de"]}})
    files = [f"{code}=work/demo/multi30k/tokens/{code}.csv" for code in ("en", "de")]
    assert tables.overlap_arguments(fewer, "translation") == files


def test_the_public_files_are_those_that_some_stage_reads(bare_paper: Plan) -> None:
    """Texts of Multi30K's parts are; photographs only where features are extracted from them."""
    public = sources.public_files(bare_paper)
    assert any("/task2/tok/train" in path for path in public)
    images = {"features": "mine/{dataset}.h5"}
    sets = {name: {**images, "dimension": 4096} for name in bare_paper.settings.images.feature_sets() if name}
    imported = plan_of(scale="paper", images={**images, "sets": sets})
    found = [sum("/zips/" in path for path in of) for of in (public, sources.public_files(imported))]
    assert found == [2, 0]


@pytest.mark.parametrize(
    ("device", "configured", "gpus"), [("auto", 1, 1), ("auto", 0, 0), ("cpu", 1, 0), ("cuda", 0, 1)]
)
def test_a_translating_model_requests_a_gpu_as_configured(device: str, configured: int, gpus: int) -> None:
    marian = {"provider": "marian", "model": "opus-{source}-{target}", "device": device}
    asked = plan_of(gpu=configured, translation={"default": marian})
    assert translation.of_captions(asked, "multi30k", "en", "de").gpus == gpus
    assert translation.of_captions(asked, "multi30k", "en", "de").services == 0


def test_a_table_without_a_provider_names_all_its_pairs_once() -> None:
    with pytest.raises(InputError, match="names no provider") as caught:
        tables.table_evaluations(plan_of(scale="paper"), "table4")
    pairs = re.findall(r"\b[a-z]{2}-[a-z]{2}\b", str(caught.value))
    assert len(pairs) == len({*pairs}) == 10


def test_lessons_reads_halves_only_for_experiments_on_a_half(demo: Plan) -> None:
    selecting = lessons.selecting_experiments(demo)
    assert re.fullmatch(selecting, "bi-disjoint") and not re.fullmatch(selecting, "mule-full")
    selected = lessons.selection(demo, "multi30k", "bi-disjoint").languages
    assert {chosen.half for chosen in selected.values()} == {"first", "second"}
    assert all(chosen.halves for chosen in selected.values())
