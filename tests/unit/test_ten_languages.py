"""SMALR's ten languages (Burns et al., ECCV 2020), written down independently, against the configuration."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from evaluations import printed

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.demo.dictionaries import pairs
from pipeline.demo.grammar import language
from pipeline.settings import Configuration
from pipeline.tables.averages import columns_of_rows
from pipeline.tables.cells import cells
from pipeline.tables.statistics import hits_by_image, intervals
from pipeline.translation.dictionary import DictionaryTranslator, read_dictionaries

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config"
DICTIONARIES = ROOT / "pipeline" / "demo" / "data" / "dictionaries"

TEN = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]  # as Tables 1 and 2 print them
HUMAN = {"multi30k": ["en", "de", "fr", "cs"], "mscoco": ["en", "zh", "ja"]}  # "Metrics"
OWN = {"smalr/table1": "mscoco", "smalr/table2": "multi30k"}

Settings = Any


def load(scale: str = "demo", **user: object) -> Configuration:
    return configuration.load({"scale": scale, **user}, CONFIG)


@pytest.mark.parametrize("scale", ["demo", "paper"])
def test_every_data_set_has_the_ten_languages(scale: str) -> None:
    settings = load(scale)
    for dataset in ("multi30k", "mscoco"):
        assert sorted(settings.datasets[dataset].every_language) == sorted(TEN)
        assert settings.datasets[dataset].languages == HUMAN[dataset]
        assert settings.experiments_on(dataset)["mule-ten"].languages == (
            settings.datasets[dataset].every_language
        )


def test_flickr8ks_data_sets_have_the_ten_languages() -> None:
    settings = load("flickr8k")
    for dataset in ("multi30k", "flickr8kcn"):
        assert sorted(settings.datasets[dataset].every_language) == sorted(TEN)
    origins = configuration.translated_origins(settings, "multi30k")
    assert origins == {
        "zh": "google",
        "ja": "google",
        **dict.fromkeys(["ar", "af", "ko", "ru"], "dictionary"),
    }


def test_translated_languages_change_no_experiment_without_them() -> None:
    """MULE's training depends on settings, files and code: a further translated language changes none."""
    less: Settings = {name: {"translated_languages": []} for name in ("multi30k", "mscoco")}
    with_ten, without = load(), load(datasets=less)
    for dataset in ("multi30k", "mscoco"):
        for name, experiment in with_ten.experiments_on(dataset).items():
            if not set(experiment.languages) <= set(HUMAN[dataset]):
                continue
            for chosen in (configuration.experiment_settings, configuration.pretraining_settings):
                assert chosen(with_ten, dataset, name, 0) == chosen(without, dataset, name, 0), name
            pairs_of = configuration.training_pairs
            assert pairs_of(with_ten, dataset, name) == pairs_of(without, dataset, name)
    for table in (name for name in with_ten.tables if not name.startswith("smalr")):
        assert configuration.table_settings(with_ten, table) == configuration.table_settings(without, table)


def test_the_captions_of_an_experiment_of_ten_languages() -> None:
    settings = load()
    made = configuration.experiment_settings(settings, "mscoco", "mule-ten", 0)
    assert made.languages == ["en", "zh", "ja", "de", "fr", "cs", "ar", "af", "ko", "ru"]
    assert made.captions == "augmented"
    assert made.translated == sorted(set(TEN) - set(HUMAN["mscoco"]))
    assert made.caption_origins == dict.fromkeys(made.translated, "dictionary")
    assert made.groups == []  # with translations every image has every language
    assert configuration.training_pairs(settings, "mscoco", "mule-ten") == ["en-zh", "en-ja"]
    assert configuration.own_pairs(settings, "mscoco", "mule-ten") == [
        "en-de", "en-fr", "en-cs", "en-ar", "en-af", "en-ko", "en-ru",
    ]  # fmt: skip
    needed = configuration.evaluation_pairs(settings, "mscoco", "mule-ten", "original")
    assert sorted(needed) == sorted(f"en-{code}" for code in TEN[1:])


def test_all_mistakes_about_translated_languages_are_reported_together() -> None:
    """Invalid codes come first."""
    wrong: Settings = {
        "multi30k": {"translated_languages": ["de", "ko"], "borrowed_translations": {
            "ar": {"dataset": "mscoco", "origin": "google"},
            "ko": {"dataset": "mscooc", "origin": "google"}}},
        "mscoco": {"languages": ["zh", "ja"], "groups": []},
    }  # fmt: skip
    with pytest.raises(InputError) as error:
        load(datasets=wrong)
    message = str(error.value)
    assert "datasets.multi30k.translated_languages: 'de' is among its languages too" in message
    assert "datasets.multi30k.borrowed_translations: 'ar' is not among its translated_languages" in message
    assert "borrowed_translations.ar.dataset: mscoco has no captions in 'ar'" in message
    assert "borrowed_translations.ko.dataset: no other data set 'mscooc', did you mean 'mscoco'?" in message
    assert (
        "datasets.mscoco.translated_languages: translations are from English, which its languages lack"
        in message
    )
    wrong["multi30k"]["translated_languages"] = ["xx"]
    with pytest.raises(InputError, match=r"translated_languages\.0: 'xx' is not in ISO 639-1"):
        load(datasets=wrong)


@pytest.mark.parametrize("table", OWN)
def test_a_row_has_the_papers_number_and_no_cell_that_the_paper_lacks(table: str) -> None:
    """Every cell is in the paper's row, and rows with all ten languages have HA and A."""
    known = {(n["row"], n["method"], n["language"]) for n in printed(table)}
    settings = configuration.table_settings(load("paper"), table)
    places = [(str(c[0].row.row), c[0].row.method, name) for name, c in columns_of_rows(settings)]
    assert len(places) == len(set(places)) and set(places) <= known
    mine = {row for row, *_ in places}
    assert {place for place in known if place[0] in mine} == set(places)


def test_averages_are_over_the_languages_that_the_paper_names() -> None:
    settings = configuration.table_settings(load("paper"), "smalr/table1")
    found = {
        (group[0].row.row, name): [cell.language for cell in group]
        for name, group in columns_of_rows(settings)
        if name in ("HA", "A")
    }
    assert found[9, "HA"] == ["en", "zh", "ja"] and found[9, "A"] == TEN
    assert found[4, "HA"] == ["en", "zh", "ja"] and (4, "A") not in found


def test_the_papers_averages_are_the_means_of_its_numbers() -> None:
    """S34: HA and A are means of the printed languages; L-LIWE's HA on Multi30K is printed 0.1 too high."""
    values: dict[tuple[str, ...], dict[str, float]] = {}
    for n in printed("smalr/table1", "smalr/table2"):
        values.setdefault((n["dataset"], n["row"]), {})[n["language"]] = float(n["value"])
    for (dataset, row), of_row in values.items():
        for name, languages in (("HA", HUMAN[dataset]), ("A", TEN)):
            if name in of_row:
                mean = sum(of_row[code] for code in languages) / len(languages)
                assert abs(of_row[name] - mean) < 0.1001, (dataset, row, name)


def test_tables_of_mule_have_no_averages() -> None:
    settings = configuration.table_settings(load(), "table4")
    assert [name for name, _ in columns_of_rows(settings)] == [cell.language for cell in cells(settings)]


def ranks(of_image: dict[str, int]) -> pd.DataFrame:
    """Hits of images whose one query each way has the given rank."""
    rows = [(way, image, rank) for way in ("i2s", "s2i") for image, rank in of_image.items()]
    return hits_by_image(pd.DataFrame(rows, columns=["direction", "image", "rank"]))


def test_the_interval_of_a_mean_takes_the_same_images_in_every_language() -> None:
    """Two languages that are wrong where the other is right have a mean of 50 in every draw."""
    first, second = ranks({"a": 1, "b": 99, "c": 1}), ranks({"a": 99, "b": 1, "c": 99})
    low, high = intervals(first, second)["mR"]
    assert low == pytest.approx(50) and high == pytest.approx(50)
    assert intervals(first)["mR"][0] < 50 < intervals(first)["mR"][1]


@pytest.mark.parametrize("code", ["af", "ar", "ko", "ru"])
def test_the_demos_word_lists_have_every_english_word_of_its_grammar(code: str) -> None:
    """All but articles, which these languages lack or write on the noun."""
    words = read_dictionaries([DICTIONARIES / f"en-{code}.txt"], "en", code)
    english = {word for word, _ in pairs(language("en"), language("de"))}
    assert english - set(words) <= {"a", "an"}
    scripts = {"ar": "\u0600", "ko": "\uac00", "ru": "\u0400"}
    if code in scripts:
        start = ord(scripts[code])
        size = {"ar": 0x100, "ko": 0x2BA4, "ru": 0x100}[code]
        for found in words.values():
            assert all(start <= ord(letter) < start + size for word in found for letter in word), found


def test_a_caption_of_the_demo_in_korean() -> None:
    translator = DictionaryTranslator("en", "ko", [DICTIONARIES / "en-ko.txt"])
    assert translator.translate(["Two red cars in front of a house."]) == ["두 빨간 차들 안에 앞에 의 집"]
