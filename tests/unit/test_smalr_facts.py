"""Facts from SMALR (Burns et al., ECCV 2020), written down independently, against the configuration.

Values that the paper leaves open are explained in docs/smalr.md, and shown by tests/golden/paper.txt.
"""

from collections.abc import Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from evaluations import ROOT, printed

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml
from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.configuration import Configuration
from pipeline.settings.merge import merge
from pipeline.settings.translations import (
    consistency_pairs,
    evaluation_pairs,
    needs_query_translation,
    training_pairs,
    translated_origins,
    via_english,
)
from pipeline.tables.averages import columns_of_rows

TEN = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]  # as Tables 1 and 2 print them
HUMAN = {"multi30k": ["en", "de", "fr", "cs"], "mscoco": ["en", "zh", "ja"]}  # "Metrics"


def load(scale: str = "demo", **user: object) -> Configuration:
    return reading.load({"scale": scale, **user})


@pytest.fixture(scope="module")
def paper() -> Configuration:
    return load("paper")


def flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Values by their keys, joined by dots."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return found


# --- Settings: experiments, key, value and the place in the paper

ALL_THREE = ("smalr-la", "smalr-hem", "smalr")
WITH_OWN_WORDS = ("smalr-hem", "smalr")
TRAINING: list[tuple[tuple[str, ...], str, Any, str]] = [
    (ALL_THREE, "captions", "augmented", "Section 4: at least five sentences in each language"),
    (ALL_THREE, "groups", [], "Section 4: every image has every language"),
    (ALL_THREE, "branches", "shared", "Section 3"),
    (ALL_THREE, "embedding", "hybrid", "Section 3.1"),
    (ALL_THREE, "triplets.margin", 0.05, "Section 3.1"),
    (ALL_THREE, "triplets.num_hard_negatives", 10, "Section 3.1"),
    (ALL_THREE, "triplets.distance", "cosine", "Section 3.1"),
    (ALL_THREE, "matching.image", 1.5, "Equation 3, lambda 1"),
    (ALL_THREE, "matching.sentence", 1, "Equation 3"),
    (ALL_THREE, "matching.sentence_only", 0, "Equation 3"),
    (ALL_THREE, "neighborhood.weight", 5e-2, "lambda 4"),
    (ALL_THREE, "classifier.weight", 1e-6, "lambda 3"),
    (ALL_THREE, "training.learning_rate", 1e-3, "Visual Features"),
    (ALL_THREE, "training.batch_images", 450, "as in MULE"),
    (ALL_THREE, "training.epochs", 20, "as in MULE"),
    (ALL_THREE, "model.recurrent", "gru", "Section 3"),
    (ALL_THREE, "model.universal_dim", 512, "Section 3"),
    (ALL_THREE, "model.multimodal_dim", 512, "Section 3"),
    (ALL_THREE, "model.hidden_size", 512, "decided: 7.1M at test time"),
    (ALL_THREE, "hybrid.latent_entries", 40_000, "Section 3.1"),
    (ALL_THREE, "hybrid.frequent_dim", 50, "Section 3.1"),
    (("smalr-la",), "hybrid.frequent_words", 0, "Section 3.1: LA has no own vectors"),
    (WITH_OWN_WORDS, "hybrid.frequent_words", 5000, "Section 3.1"),
    (("smalr-la", "smalr-hem"), "masking", None, "Section 3.2: MCLM is SMALR's"),
    (("smalr",), "masking.mask_probability", 0.2, "Section 3.2"),
    (("smalr",), "masking.weight", 1e-4, "lambda 2"),
]
ASSIGNMENT: list[tuple[str, Any, str]] = [
    ("assignment.exploration", 0.2, "Section 3.1"),
    ("assignment.top_m", 20, "Section 3.1"),
    ("hybrid.latent_entries", 40_000, "Section 3.1"),
    ("universal_dim", 512, "Section 3"),
    ("triplets.margin", 0.05, "Section 3.1"),
    ("triplets.num_hard_negatives", 10, "Section 3.1"),
    ("triplets.distance", "cosine", "Section 3.1"),
]


@pytest.mark.parametrize(("names", "key", "expected", "place"), TRAINING)
def test_a_model_is_trained_as_the_paper_says(
    paper: Configuration, names: tuple[str, ...], key: str, expected: Any, place: str
) -> None:
    for dataset in HUMAN:
        for name in names:
            found = stage_settings.experiment_settings(paper, dataset, name, 0)
            assert reduce(getattr, key.split("."), found) == expected, (dataset, name, place)
            assert sorted(found.languages) == sorted(TEN)


@pytest.mark.parametrize(("key", "expected", "place"), ASSIGNMENT)
def test_words_are_assigned_as_the_paper_says(
    paper: Configuration, key: str, expected: Any, place: str
) -> None:
    for name in ALL_THREE:
        found = stage_settings.assignment_settings(paper, "multi30k", name, 0)
        assert reduce(getattr, key.split("."), found) == expected, (name, place)


def test_languages_are_combined_as_the_paper_says(paper: Configuration) -> None:
    found = stage_settings.consistency_settings(paper, "multi30k", "smalr", 0, "learned")
    assignment = stage_settings.assignment_settings(paper, "multi30k", "smalr", 0)
    assert found.assignment == assignment and found.pretraining is None
    section = {"hidden": 32, "iterations": 30}  # Section 3.4
    assert found.network.as_values() == {**section, "learning_rate": 1e-2, "initial_weight": 1.0}  # decided
    assert found.kind == "learned"
    average = stage_settings.consistency_settings(paper, "multi30k", "mule-one-en", 0, "average")
    assert average.as_values() == {"kind": "average"}


def test_queries_in_languages_with_human_captions_are_translated_into_all_others(
    paper: Configuration,
) -> None:
    """HA of Tables 1 and 2; Flickr8kCN's Japanese captions are machine translations."""
    flickr8k = load("flickr8k")
    pairs = consistency_pairs
    for dataset, human in HUMAN.items():
        found = pairs(paper, dataset, "smalr")
        assert set(found) == {f"{one}-{other}" for one in human for other in TEN if other != one}
    assert {pair[:2] for pair in pairs(flickr8k, "flickr8kcn", "smalr")} == {"en", "zh"}
    assert stage_settings.table_settings(flickr8k, "smalr/table1").human == {
        "multi30k": ["en", "de", "fr", "cs"],
        "flickr8kcn": ["en", "zh"],
    }


def test_without_a_service_queries_are_translated_via_english() -> None:
    """The demo's provider is a dictionary; a service translates between any two languages."""
    demo, service = load(), load("paper", translation={"default": {"provider": "google"}})
    assert via_english(demo, "multi30k", "de-fr")
    assert not via_english(demo, "multi30k", "de-en")
    assert not via_english(service, "multi30k", "de-fr")
    assert needs_query_translation(service, "multi30k", "de-fr")
    assert not needs_query_translation(service, "multi30k", "en-fr")


# --- Ten languages


@pytest.mark.parametrize("scale", ["demo", "paper", "flickr8k"])
def test_every_data_set_has_the_ten_languages(scale: str) -> None:
    settings = load(scale)
    for dataset, human in zip(settings.datasets, HUMAN.values(), strict=True):
        of = settings.datasets[dataset]
        assert (of.languages, sorted(of.every_language)) == (human, sorted(TEN))
        assert settings.experiments_on(dataset)["mule-ten"].languages == of.every_language
    assert (settings.assignment.gradient, settings.assignment.pairs) == ("softmax", "all")  # decided
    if scale == "flickr8k":
        origins = dict.fromkeys(["ar", "af", "ko", "ru"], "dictionary") | {"zh": "google", "ja": "google"}
        assert translated_origins(settings, "multi30k") == origins


def test_translated_languages_change_no_experiment_without_them() -> None:
    """MULE's training depends on settings, files and code: a further translated language changes none."""
    with_ten = load()
    without = load(datasets={name: {"translated_languages": []} for name in HUMAN})
    for dataset, human in HUMAN.items():
        for name, experiment in with_ten.experiments_on(dataset).items():
            if set(experiment.languages) <= set(human):
                for chosen in (stage_settings.experiment_settings, stage_settings.pretraining_settings):
                    assert chosen(with_ten, dataset, name, 0) == chosen(without, dataset, name, 0), name
                pairs = training_pairs
                assert pairs(with_ten, dataset, name) == pairs(without, dataset, name)


def test_the_captions_of_an_experiment_of_ten_languages() -> None:
    settings = load()
    made = stage_settings.experiment_settings(settings, "mscoco", "mule-ten", 0)
    assert made.captions == "augmented"
    assert made.translated == sorted(set(TEN) - set(HUMAN["mscoco"]))
    assert made.caption_origins == dict.fromkeys(made.translated, "dictionary")
    assert made.groups == []  # with translations every image has every language
    assert training_pairs(settings, "mscoco", "mule-ten") == ["en-zh", "en-ja"]
    needed = evaluation_pairs(settings, "mscoco", "mule-ten", "original")
    assert sorted(needed) == sorted(f"en-{code}" for code in TEN[1:])


def test_all_mistakes_about_translated_languages_are_reported_together() -> None:
    borrowed = {code: {"dataset": "mscoco", "origin": "google"} for code in ("ar", "ko")}
    with pytest.raises(InputError) as error:
        load(
            datasets={
                "multi30k": {"translated_languages": ["de", "ko"], "borrowed_translations": borrowed},
                "mscoco": {"languages": ["zh", "ja"], "groups": []},
            }
        )
    for words in (
        "datasets.multi30k.translated_languages: 'de'",
        "datasets.multi30k.borrowed_translations: 'ar'",
        "datasets.mscoco.translated_languages: translations are from English",
    ):
        assert words in str(error.value)
    with pytest.raises(InputError, match="ISO 639-1"):
        load(datasets={"multi30k": {"translated_languages": ["xx"]}})


# --- Tables

# Tables 1 and 2: the words of each row, its experiment, and what it is asked.
ROWS = [
    ("Trans. to En [23]", "embn-en", "translated"),
    ("EmbN [40]", "embn-human+mt", "original"),
    ("PAR. EmbN [16]", "parallel-embn-human+mt", "original"),
    ("MULE [23]", "mule-full-human+mt", "original"),
    ("(1) S-LIWE [41]", "liwe-s", "original"),
    ("(2) S-LIWE", "liwe-s-two", "original"),
    ("(10) S-LIWE", "liwe-s-ten", "original"),
    ("(10) L-LIWE", "liwe-l-ten", "original"),
    ("MULE [23]", "mule-ten", "original"),
    ("Language-Agnostic", "smalr-la", "original"),
    ("HEM", "smalr-hem", "original"),
    ("SMALR", "smalr", "original"),
    ("SMALR-CLC-A", "smalr", "average"),
    ("SMALR-CLC-C", "smalr", "learned"),
]


@pytest.mark.parametrize("table", ["smalr/table1", "smalr/table2"])
def test_a_row_shows_the_experiment_that_its_words_describe(paper: Configuration, table: str) -> None:
    rows = paper.tables[table].rows
    asked = [row.queries or row.consistency or "original" for row in rows]
    found = [(row.method, row.experiment) for row in rows]
    assert [(*row, queries) for row, queries in zip(found, asked, strict=True)] == ROWS


@pytest.mark.parametrize("table", ["smalr/table1", "smalr/table2"])
def test_a_row_has_the_papers_number_and_no_cell_that_the_paper_lacks(
    paper: Configuration, table: str
) -> None:
    """Every cell is in the paper's row, and rows with all ten languages have HA and A."""
    known = {(n["row"], n["method"], n["language"]) for n in printed(table)}
    groups = columns_of_rows(stage_settings.table_settings(paper, table))
    places = [(str(cells[0].row.row), cells[0].row.method, name) for name, cells in groups]
    assert len(places) == len(set(places)) and set(places) <= known
    mine = {row for row, *_ in places}
    assert {place for place in known if place[0] in mine} == set(places)
    human = HUMAN["mscoco" if table == "smalr/table1" else "multi30k"]
    for name, cells in groups:
        if name in ("HA", "A"):
            assert [cell.language for cell in cells] == (human if name == "HA" else TEN)


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


# Figure 3: how a point's label appears in the name of its experiment.
# Figure 1b: the experiment of each point, and the number of languages that its label names.
SERIES = {
    "Frequency threshold": "mule-ten-frequency-{}",
    "PCA": "mule-ten-pca-{}",
    "Dictionary mapping": "mule-ten-dictionary-{}",
    "MULE": "mule-ten",
    "S-LIWE": "liwe-s-ten",
    "L-LIWE": "liwe-l-ten",
    "LA": "smalr-la",
    "SMALR": "smalr",
}
POINTS = [
    ("MULE", "mule-one", 1),
    ("MULE", "mule-own", 4),
    ("MULE", "mule-ten", 10),
    ("S-LIWE", "liwe-s-one", 1),
    ("S-LIWE", "liwe-s-two", 2),
    ("S-LIWE", "liwe-s-ten", 10),
    ("L-LIWE", "liwe-l-ten", 10),
    ("SMALR", "smalr", 10),
]


def test_a_point_shows_the_experiment_that_its_words_describe(paper: Configuration) -> None:
    third, first = paper.tables["smalr/figure3"], paper.tables["smalr/figure1b"]
    assert len(third.rows) == 4 + 3 + 4 + 5
    for row in third.rows:
        assert row.experiment == SERIES[row.group or row.method].format(row.method)
    assert (third.averages, first.averages) == (True, True)
    assert third.columns == {"mscoco": TEN, "multi30k": TEN}
    assert first.columns == {"mscoco": ["en", "ja"], "multi30k": ["en", "de"]}
    trained = paper.experiments_on("multi30k")
    names = [
        f"{row.experiment}-de".removesuffix("" if row.experiment.endswith("one") else "-de")
        for row in first.rows
    ]
    assert [
        (row.group, row.experiment, len(trained[name].languages))
        for row, name in zip(first.rows, names, strict=True)
    ] == POINTS


def differing(settings: Configuration, first: str, second: str, dataset: str = "multi30k") -> set[str]:
    """Keys in which the trainings of two experiments differ."""
    one, other = (
        flat(stage_settings.experiment_settings(settings, dataset, name, 0).as_values())
        for name in (first, second)
    )
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)} - {"experiment"}


def test_mule_with_ten_languages_is_mule_with_augmentation_on_their_captions(paper: Configuration) -> None:
    """Section 4: "at least five sentences" of each image. Its parts are MULE's (test_facts.py)."""
    assert differing(paper, "mule-ten", "mule-full-human+mt") == {"languages", "captions"}
    ten = paper.experiments["mule-ten"]
    assert (ten.captions, ten.languages, ten.pretraining) == ("augmented", "all", True)


@pytest.mark.parametrize("dataset", HUMAN)
@pytest.mark.parametrize(
    ("fewer", "more"),
    [(f"mule-{few}", "mule-ten") for few in ("own", "one-en")]
    + [(f"liwe-s-{few}", "liwe-s-ten") for few in ("two", "one-en")],
)
def test_points_on_a_line_of_figure_1b_differ_only_in_languages(
    paper: Configuration, dataset: str, fewer: str, more: str
) -> None:
    """NC, LC and LP are losses between languages, which a model of one language lacks."""
    found = differing(paper, fewer, more, dataset)
    between = {key for key in found if key.partition(".")[0] in ("neighborhood", "classifier")}
    assert found - between == {"languages"}
    assert not between or fewer == "mule-one-en"
    made = paper.experiments_on(dataset)
    assert made[fewer].captions == made[more].captions == "augmented"
    assert set(made[fewer].languages) < set(made[more].languages)


@pytest.mark.parametrize(
    ("files", "pairs", "difference"),
    [
        ("weights", "mule-full:full-nc-1e-1:full-nc-3e-1", "neighborhood.weight"),
        ("weights", "mule-lc:mule-lc-1e-3:mule-lc-1e-1:mule-lc-1", "classifier.weight"),
        ("weights", "mule-full:mule-full-lc-1e-3:mule-full-lc-1e-1:mule-full-lc-1", "classifier.weight"),
        ("smalr smalr-steps", "mule-ten:mule-ten-1620:mule-ten-5400 smalr:smalr-1620", "training.epochs"),
        ("smalr smalr-steps", "smalr-hem:hem-50-1620 hem-300:hem-300-1620", "training.epochs"),
        (
            "smalr smalr-steps",
            "mule-ten-1620:mule-ten-mean-1620 smalr-1620:smalr-mean-1620",
            "model.recurrent",
        ),
        ("smalr smalr-steps", "hem-50-1620:hem-100-1620:hem-300-1620", "hybrid.frequent_dim"),
        ("lessons c2c", "bilingual-2400:bilingual-c2c-2400 bilingual-ended:bilingual-c2c-ended", "c2c"),
        ("lessons c2c", "bilingual:bilingual-2400:bilingual-ended", "lessons.max_steps"),
    ],
)
def test_rows_that_are_compared_differ_in_one_setting(files: str, pairs: str, difference: str) -> None:
    parts = ["flickr8k-small", *(f"flickr8k-small-{name}" for name in files.split())]
    settings = reading.load(reduce(merge, [read_yaml(ROOT / "config" / f"{part}.yaml") for part in parts]))
    assert settings.pretraining.epochs == 5  # with one, LP fails with ten languages (docs/smalr.md)
    for first, second in (pair for row in pairs.split() for pair in pairwise(row.split(":"))):
        assert differing(settings, first, second) == {difference}
