"""Which translations, evaluations and pages a result is made of."""

from pathlib import Path
from typing import Any

import pytest
from plans import ADDED, FACEBOOK, MSCOCO, MULTI30K, each, paper_plan, plan_of

from pipeline.common.errors import InputError
from pipeline.plan import pages, tables, training, translation
from pipeline.plan.plan import Plan

DEMO = "work/demo/multi30k"
CHINESE = "work/flickr8k/flickr8kcn"
MINE: dict[str, Any] = {
    "seeds": [3, 4],
    "tables": {
        "mine": {
            "columns": {"multi30k": ["en", "de"], "mscoco": ["ja"]},
            "rows": [
                {"row": 1, "method": "MULE full", "experiment": "mule-full"},
                {"row": 2, "method": "EmbN", "experiment": "embn-en", "queries": "translated"},
            ],
        },
        "berts": {
            "columns": {"multi30k": ["de"]},
            "rows": [{"row": 1, "method": "BERT", "experiment": "bert-parallel-embn"}],
        },
    },
    "report": ["mine", "berts", "table1"],
}


@pytest.fixture(scope="module")
def mine() -> Plan:
    return plan_of(**MINE)


# Translations.


def test_a_dictionary_translates_the_captions_of_its_pair(paper: Plan) -> None:
    folder = "work/paper/mscoco"
    for code in ("zh", "ko"):
        translated = translation.of_captions(paper, "mscoco", "en", code)
        assert translated.inputs == {
            "sentences": f"{folder}/tokens/en.csv",
            "target_sentences": [f"{folder}/tokens/zh.csv"] if code == "zh" else [],
            "dictionaries": f"{FACEBOOK}/arrival/dictionaries/en-{code}.txt",
        }
        assert (translated.provider, translated.minutes, translated.services) == ("dictionary", 60, 0)
        assert translated.options == ['--settings={"provider":"dictionary"}', "--source-origin=human"]
    with pytest.raises(InputError, match="de-fr: the bilingual dictionaries have English on one side"):
        translation.dictionary(paper, "multi30k", "de", "fr")
    assert translation.input_options({"target_sentences": ["a", "b"], "sentences": "c"}) == [
        *("--sentences=c", "--target-sentences=a", "--target-sentences=b")
    ]


def test_own_data_are_not_translated_by_the_demos_dictionary() -> None:
    """It has the demo's 298 words; other scales use MUSE's dictionary."""
    own = {"source": "custom", "captions": "c.csv", "images": "mine", "languages": ["en", "de"]}
    plan = plan_of(datasets={"mine": own})
    found = [translation.dictionary(plan, dataset, "en", "de") for dataset in ("mine", "multi30k")]
    assert found == [f"{FACEBOOK}/arrival/dictionaries/en-de.txt", "work/demo/dictionaries/en-de.txt"]
    for code in ADDED:
        assert translation.dictionary(plan, "multi30k", code, "en") == (
            f"pipeline/demo/data/dictionaries/en-{code}.txt"
        )
    with pytest.raises(InputError, match="no dictionary of English and 'sw'"):
        translation.dictionary(plan, "multi30k", "en", "sw")
    with pytest.raises(InputError, match="no dictionary of English and 'sw'"):
        translation.dictionary(plan, "mine", "en", "sw")


def test_borrowed_translations_are_those_of_the_borrowers_images(flickr8k: Plan) -> None:
    for code in ("zh", "ja"):
        borrowed = translation.of_captions(flickr8k, "multi30k", "en", code)
        assert borrowed.inputs == {
            "captions": f"{CHINESE}/captions/{code}.csv",
            "images": "work/flickr8k/multi30k/split.csv",
        }
        assert borrowed.options[0] == '--settings={"provider":"files","origin":"google"}'
    published = translation.of_captions(flickr8k, "flickr8kcn", "en", "zh")
    assert published.inputs == {"captions": f"{CHINESE}/captions/zh.csv"}


def test_a_web_service_has_its_settings_and_a_day(flickr8k: Plan) -> None:
    google = translation.of_captions(flickr8k, "multi30k", "de", "en")
    assert (google.provider, google.minutes, google.services) == ("google", 1440, 1)
    assert google.options == ['--settings={"provider":"google"}', "--source-origin=human"]
    assert google.inputs == {"sentences": "work/flickr8k/multi30k/tokens/de.csv"}
    other = plan_of(translation={"default": {"provider": "deepl", "codes": {"en": "EN-GB"}}})
    deepl = translation.of_captions(other, "multi30k", "de", "en")
    assert deepl.options[0] == '--settings={"provider":"deepl","codes":{"en":"EN-GB"}}'


def test_a_marian_model_is_read_from_its_files(tmp_path: Path) -> None:
    (tmp_path / "opus-en-de").mkdir()
    (tmp_path / "opus-en-de/config.json").touch()
    marian = {"provider": "marian", "model": f"{tmp_path}/opus-{{source}}-{{target}}"}
    translated = translation.of_captions(plan_of(translation={"default": marian}), "multi30k", "en", "de")
    assert translated.inputs["model"] == [str(tmp_path / "opus-en-de/config.json")]
    assert (translated.provider, translated.minutes, translated.services) == ("marian", 1440, 0)


def test_queries_reach_another_language_via_english(flickr8k: Plan) -> None:
    """Borrowed translations do not say which query they translate, so queries are translated again."""
    folder = "work/flickr8k/multi30k/translations"
    onward = translation.of_queries(flickr8k, "multi30k", "de", "ja")
    assert (onward.source, onward.target, onward.before) == ("en", "ja", "de-en")
    assert onward.inputs["sentences"] == f"{folder}/de-en.csv"
    assert onward.inputs["dictionaries"] == f"{FACEBOOK}/arrival/dictionaries/en-ja.txt"
    assert onward.options[1:] == ["--source-origin=google", "--splits", "val", "test"]
    direct = translation.of_queries(flickr8k, "multi30k", "en", "ja")
    assert direct.inputs["sentences"] == "work/flickr8k/multi30k/tokens/en.csv"
    assert direct.options[1:] == ["--source-origin=human", "--splits", "val", "test"]
    asked = training.queries_in_every_language(flickr8k, "multi30k", "smalr")
    assert asked[:5] == [
        *each(f"{folder}/en-*.csv", ["de", "fr", "cs"]),
        *each(f"{folder}/queries/en-*.csv", ["zh", "ja"]),
    ]
    assert len(asked) == 4 * 9  # four languages with captions, each into nine others


def test_direct_translations_of_queries_need_a_provider(tmp_path: Path) -> None:
    plan = paper_plan(tmp_path, translation={"default": None, "pairs": {"en-de": {"provider": "google"}}})
    with pytest.raises(InputError, match=r"(?s)names no provider.*multi30k.*en-fr"):
        training.queries_in_every_language(plan, "multi30k", "mule-full")


def test_queries_need_a_provider_where_captions_are_borrowed() -> None:
    """English into Japanese is borrowed for captions, so no provider is required for these."""
    plan = plan_of(
        scale="flickr8k", translation={"default": None, "pairs": {"en-de": {"provider": "google"}}}
    )
    assert translation.of_captions(plan, "multi30k", "en", "ja").provider == "files"
    with pytest.raises(InputError, match="queries need their own translations for en-ja; name a provider"):
        _ = translation.of_queries(plan, "multi30k", "en", "ja").provider


def test_queries_of_other_languages_are_translated_into_the_models(flickr8k: Plan) -> None:
    chosen = flickr8k, "flickr8kcn", "embn-en"
    assert training.evaluated_sentences(*chosen, "translated") == each(f"{CHINESE}/tokens/*.csv", MSCOCO)
    assert training.translated_queries(*chosen, "translated") == each(
        f"{CHINESE}/translations/*-en.csv", ["zh", "ja"]
    )
    assert training.evaluated_sentences(*chosen, "original") == [f"{CHINESE}/tokens/en.csv"]


def test_translation_quality_compares_captions_of_the_pair(flickr8k: Plan, paper: Plan) -> None:
    measured = translation.of_quality(flickr8k, "flickr8kcn", "ja", "en")
    assert measured.inputs["captions"] == each(f"{CHINESE}/captions/*.csv", ["ja", "en"])
    assert measured.inputs["target_sentences"] == [f"{CHINESE}/tokens/en.csv"]
    of_multi30k = translation.of_quality(paper, "multi30k", "fr", "en")
    assert of_multi30k.inputs["dictionaries"] == f"{FACEBOOK}/arrival/dictionaries/en-fr.txt"
    assert of_multi30k.inputs["target_sentences"] == ["work/paper/multi30k/tokens/en.csv"]
    assert of_multi30k.inputs["task1"] and all("/task1/" in path for path in of_multi30k.inputs["task1"])
    assert of_multi30k.options == ['--settings={"provider":"dictionary"}', "--multi30k=work/sources"]
    without = translation.of_quality(paper, "mscoco", "zh", "en")  # nobody has translated its captions
    assert (without.inputs, without.provider, without.options) == ({}, "files", [])
    assert (without.minutes, without.services, without.gpus) == (60, 0, 0)
    assert without.code != translation.of_quality(paper, "multi30k", "fr", "en").code
    folder = "work/demo/mscoco/translation-quality"
    assert translation.measured_pairs(plan_of())[-4:] == each(
        f"{folder}/*.csv", ["en-zh", "zh-en", "en-ja", "ja-en"]
    )


# Tables, figures and comparisons.


def test_a_table_has_the_evaluations_of_its_cells_with_all_seeds(mine: Plan) -> None:
    """An English model is evaluated with English captions and with translations from another language."""
    assert tables.table_evaluations(mine, "mine")["evaluations"] == [
        f"work/demo/{name}/seed{seed}/test-{queries}.json"
        for name, seed, queries in [
            *(("mscoco/experiments/embn-en", seed, "translated") for seed in (3, 4)),
            *(("mscoco/experiments/mule-full", seed, "original") for seed in (3, 4)),
            *(("multi30k/experiments/embn-en", 3, queries) for queries in ("original", "translated")),
            *(("multi30k/experiments/embn-en", 4, queries) for queries in ("original", "translated")),
            *(("multi30k/experiments/mule-full", seed, "original") for seed in (3, 4)),
        ]
    ]


def test_an_experiment_with_one_model_per_language_is_compared_in_all(mine: Plan) -> None:
    compared = tables.compared_evaluations(mine, "multi30k", "embn", "mule-full")
    names = {"first": [f"embn-{code}" for code in MULTI30K], "second": ["mule-full"]}
    for side, experiments in names.items():
        assert compared[side] == [
            f"{DEMO}/experiments/{name}/seed{seed}/test-original.json"
            for name in experiments
            for seed in (3, 4)
        ]
    with pytest.raises(InputError, match="no experiment 'mule-ful', did you mean 'mule-full'"):
        tables.compared_evaluations(mine, "multi30k", "embn", "mule-ful")


def test_a_table_without_data_says_why() -> None:
    own = {"columns": {"multi30k": ["de"]}, "rows": [{"row": 1, "method": "A", "experiment": "vse-one"}]}
    plan = plan_of(tables={"own": own}, images={"sets": {"resnet50": None}}, experiments={
        "vse-one": {"branches": "shared", "captions": "human", "features": "resnet50"}})  # fmt: skip
    with pytest.raises(InputError, match=r"results/own.csv: .*no features resnet50 \(images.sets\)"):
        tables.table_evaluations(plan, "own")


@pytest.mark.parametrize(
    ("number", "dataset", "languages"), [("3", "multi30k", MULTI30K), ("4", "mscoco", MSCOCO)]
)
def test_a_figure_shows_the_first_seed_on_its_own_data_set(
    mine: Plan, number: str, dataset: str, languages: list[str]
) -> None:
    folder = f"work/demo/{dataset}"
    assert pages.figure_inputs(mine, number) == {
        "model": f"{folder}/experiments/mule-full/seed3/model.pt",
        "features": f"{folder}/features.h5",
        "images": [f"{folder}/images.csv"],
        "words": each(f"{folder}/words/human/*.h5", languages),
        "sentences": each(f"{folder}/tokens/*.csv", languages),
    }
    settings = pages.figure_settings(mine, number)
    assert (settings.number, settings.seed, settings.threads) == (int(number), 0, 1)


# The report.


def test_a_report_has_what_its_tables_need(mine: Plan) -> None:
    assert (pages.claims(mine), pages.verdicts(mine)) == ([], [])  # its tables are of no paper
    assert pages.counts(mine) == ["results/counts.csv"]
    plan = plan_of(report=["table2", "smalr/figure1b", "lessons/figure3"])
    assert pages.claims(plan) == each("config/claims/*.yaml", ["mule", "lessons", "smalr"])
    assert (pages.verdicts(plan), pages.counts(plan)) == (["results/claims.csv"], [])
    figures = ["lessons/figure3.svg", "figure3.html", "smalr/figure1b.svg"]
    assert pages.figures(plan) == [f"results/{name}" for name in figures]
