"""What a job reads, asked of the plan without Snakemake; test_job_commands.py has whole dry runs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.plan import (
    captions,
    images,
    lessons,
    pages,
    scaling,
    search,
    sources,
    tables,
    targets,
    training,
    translation,
    words,
)
from pipeline.plan.paths import SOURCES_TABLE
from pipeline.plan.plan import Plan, published_sources

ROOT = Path(__file__).parents[2]


def plan(*command: str, **user: Any) -> Plan:
    """The plan of a configuration; `command`: targets of the command."""
    settings = configuration.load({"scale": "demo", **user}, ROOT / "config")
    return Plan(settings, ROOT / "config", published_sources(ROOT / SOURCES_TABLE), command)


@pytest.fixture(scope="module")
def demo() -> Plan:
    return plan()


@pytest.fixture(scope="module")
def paper() -> Plan:
    return plan(scale="paper")


def test_a_job_that_reads_evaluations_reads_their_ranks_too(demo: Plan) -> None:
    compared = tables.compared_evaluations(demo, "mscoco", "mule-full", "parallel-embn")
    both = {"evaluations": compared["first"] + compared["second"], "ranks": compared["ranks"]}
    table, claims = tables.table_evaluations(demo, "table4"), pages.claim_evaluations(demo)
    for files in (table, claims, both, scaling.figure_files(demo, "1b")):
        assert files["evaluations"]
        of_evaluations = [path.replace(".json", "-ranks.csv.gz") for path in files["evaluations"]]
        assert files["ranks"] == of_evaluations


def test_a_model_reads_vocabularies_of_its_own_captions_and_vectors(demo: Plan) -> None:
    folder = "work/demo/mscoco"
    languages = ("en", "zh", "ja")
    assert words.vocabularies(demo, "mscoco", "mule-full") == [
        f"{folder}/words/human/{code}.h5" for code in languages
    ]
    assert words.vocabularies(demo, "mscoco", "bert-parallel-embn") == [
        f"{folder}/bert/{code}.h5" for code in languages
    ]
    aligned = words.vocabularies(demo, "mscoco", "muse-full")
    assert aligned == [
        f"{folder}/words/human/{name}.h5" for name in ("en", "muse/zh", "muse/ja")
    ]  # English stays as it is


def test_published_aligned_vectors_have_english_too(paper: Plan) -> None:
    assert words.vocabularies(paper, "mscoco", "muse-full")[0] == "work/paper/mscoco/words/human/muse/en.h5"


def test_pretrained_weights_and_assignments_have_the_models_seed(demo: Plan) -> None:
    folder = "work/demo/multi30k/experiments"
    assert training.initial_weights(demo, "multi30k", "mule-full", 3) == [
        f"{folder}/mule-full/seed3/pretrained.pt"
    ]
    assert training.initial_weights(demo, "multi30k", "parallel-embn", 3) == []


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
        other = training.initial_weights(plan(experiments={"smalr": changes}), "multi30k", "smalr", 0)
        assert other != of
    same = plan(experiments={"smalr": {"settings": {"training": {"epochs": 9}}}})
    assert training.initial_weights(same, "multi30k", "smalr", 0) == of


def test_a_model_is_trained_with_its_seed(demo: Plan) -> None:
    assert configuration.experiment_settings(demo.settings, "multi30k", "mule-full", 7).seed == 7


def test_translations_are_those_that_an_experiment_trains_on(demo: Plan) -> None:
    pairs = [f"{code}-en" for code in ("zh", "ja")] + [f"en-{code}" for code in ("zh", "ja")]
    assert training.translations(demo, "mscoco", "mule-full-human+mt") == [
        f"work/demo/mscoco/translations/{pair}.csv" for pair in pairs
    ]
    assert training.translations(demo, "mscoco", "mule-full") == []


def test_the_split_depends_on_keys_of_its_source(paper: Plan) -> None:
    (option,) = captions.split_options(paper, "multi30k")
    assert json.loads(option.removeprefix("--settings=")) == {"source": "multi30k", "split": "multi30k"}
    assert all(
        "image_splits" in path or "flickr8k" in path for path in captions.split_sources(paper, "multi30k")
    )


def test_data_sets_are_known_by_what_their_source_reads(demo: Plan, paper: Plan) -> None:
    assert captions.datasets_from(demo, "demo") == "multi30k|mscoco"
    assert captions.datasets_read_by(demo, "read_split") == "(?!)"
    assert captions.datasets_read_by(paper, "read_split") == "multi30k|mscoco"


def test_features_are_those_of_the_experiments_feature_set() -> None:
    two = plan(images={"sets": {"resnet50": {"backbone": "resnet50"}}})
    assert (
        training.features(two, "multi30k", "multi-comparable-c2c")
        == "work/demo/multi30k/features-resnet50.h5"
    )
    assert training.features(two, "multi30k", "mule-full") == "work/demo/multi30k/features.h5"
    assert images.extracted_sets(two) == "(?:|-vgg|-resnet50)"
    assert images.imported_sets(two) == "(?!)"
    with pytest.raises(InputError, match="multi-comparable-c2c cannot be trained"):
        training.features(plan(images={"sets": {"resnet50": None}}), "multi30k", "multi-comparable-c2c")


def test_a_users_dictionary_replaces_the_demos(tmp_path: Path) -> None:
    (tmp_path / "en-de.txt").write_text("dog Hund\n")
    mine = plan(translation={"dictionaries": str(tmp_path)})
    for pair in (("en", "de"), ("de", "en")):
        assert translation.dictionary(mine, "multi30k", *pair) == str(tmp_path / "en-de.txt")


def test_vocabularies_are_compared_in_the_languages_of_the_data() -> None:
    """Lessons' Table 1 compares four; here two have captions."""
    fewer = plan(datasets={"multi30k": {"languages": ["en", "de"]}})
    files = [f"{code}=work/demo/multi30k/tokens/{code}.csv" for code in ("en", "de")]
    assert tables.overlap_arguments(fewer, "translation") == files


def test_the_public_files_are_those_that_some_stage_reads(paper: Plan) -> None:
    """Texts of Multi30K's parts are; photographs only where features are extracted from them."""
    public = sources.public_files(paper)
    assert any("/task2/tok/train" in path for path in public)
    images = {"features": "mine/{dataset}.h5"}
    sets = {name: {**images, "dimension": 4096} for name in paper.settings.images.feature_sets() if name}
    imported = plan(scale="paper", images={**images, "sets": sets})
    found = [sum("/zips/" in path for path in of) for of in (public, sources.public_files(imported))]
    assert found == [2, 0]


def test_queries_between_other_languages_are_translated_via_english(demo: Plan) -> None:
    onward = translation.of_queries(demo, "multi30k", "de", "fr")
    assert (onward.source, onward.before) == ("en", "de-en")
    assert onward.inputs["sentences"] == "work/demo/multi30k/translations/de-en.csv"
    direct = translation.of_captions(demo, "multi30k", "en", "fr")
    assert direct.inputs["sentences"] == "work/demo/multi30k/tokens/en.csv"


@pytest.mark.parametrize(
    ("device", "configured", "gpus"), [("auto", 1, 1), ("auto", 0, 0), ("cpu", 1, 0), ("cuda", 0, 1)]
)
def test_a_translating_model_requests_a_gpu_as_configured(device: str, configured: int, gpus: int) -> None:
    marian = {"provider": "marian", "model": "opus-{source}-{target}", "device": device}
    asked = plan(gpu=configured, translation={"default": marian})
    assert translation.of_captions(asked, "multi30k", "en", "de").gpus == gpus
    assert translation.of_captions(asked, "multi30k", "en", "de").services == 0


def test_everything_without_a_provider_is_named_at_once() -> None:
    without = plan("results/table4.csv", scale="paper")
    with pytest.raises(InputError, match=r"names no provider(.|\n)*must be requested"):
        tables.table_evaluations(without, "table4")


def test_languages_that_a_service_may_not_translate_are_reported_before_any_job() -> None:
    """SMALR's ten languages: DeepL has no Afrikaans; a configured code overrules the list."""
    deepl: dict[str, Any] = {"provider": "deepl"}
    pairs = {"en-ru": {"provider": "baidu", "codes": {"ru": "RU"}}, "en-af": deepl}
    message = r"translation.pairs.en-af: deepl is not known to translate 'af'.*\(codes: \{af: CODE\}\)"
    for translated_by in ({"default": deepl}, {"default": {"provider": "google"}, "pairs": pairs}):
        asked = plan("results/smalr/table1.csv", scale="paper", translation=translated_by)
        with pytest.raises(InputError, match=message.replace("pairs.en-af", "(default|pairs.en-af)")):
            tables.table_evaluations(asked, "smalr/table1")
    known = {"default": deepl | {"codes": {"af": "AF"}}}
    for translated_by in (known, {"default": {"provider": "google"}}):
        asked = plan("results/smalr/table1.csv", scale="paper", translation=translated_by)
        assert tables.table_evaluations(asked, "smalr/table1")


def test_lessons_reads_halves_only_for_experiments_on_a_half(demo: Plan) -> None:
    selecting = lessons.selecting_experiments(demo)
    assert re.fullmatch(selecting, "bi-disjoint") and not re.fullmatch(selecting, "mule-full")
    selected = lessons.selection(demo, "multi30k", "bi-disjoint").languages
    assert {chosen.half for chosen in selected.values()} == {"first", "second"}
    assert all(chosen.halves for chosen in selected.values())


def test_a_bundle_holds_models_that_read_whole_vocabularies(demo: Plan) -> None:
    assert search.can_be_bundled(demo, "multi30k", "mule-full")
    with pytest.raises(InputError, match="bert-parallel-embn cannot be bundled"):
        search.bundled_model(demo, "multi30k", "bert-parallel-embn", 0)


def test_results_are_copied_from_their_scales_folder(demo: Plan) -> None:
    assert pages.table_to_publish(demo, "", "table4") == "results/demo/table4.csv"
    assert pages.table_to_publish(demo, "demo/", "table4") == "work/results/demo/table4.csv"
    assert pages.published_beside(demo, "", "counts.csv") == []
    shown, of_scale = (pages.published_beside(demo, place, "report.html") for place in ("", "demo/"))
    assert "results/comparison/table4.csv" in shown
    assert [path.replace("results/", "results/demo/", 1) for path in shown] == of_scale


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("results/tabel4.csv", "no target 'results/tabel4.csv', did you mean 'results/table4.csv'?"),
        ("results/compare/multi30k/embn-vs-embn.csv", "embn is compared with itself"),
        ("results/compare/mutli30k/embn-vs-mule-full.csv", "no data set 'mutli30k'"),
    ],
)
def test_a_mistyped_target_is_refused(target: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        targets.check_targets(plan(target), ["train"])
    assert message in str(error.value)


@pytest.mark.parametrize(
    "target", ["results/demo/table4-row1+2.csv", "train", "work/demo/any", "results/context.csv"]
)
def test_a_target_that_a_rule_makes_is_accepted(target: str) -> None:
    targets.check_targets(plan(target), ["train"])
