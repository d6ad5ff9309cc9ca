"""Facts from SMALR (Burns et al., ECCV 2020), written down independently, against the configuration.

If the paper leaves something open, docs/smalr.md explains the value, and the comment here is "decided".
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline import settings as configuration
from pipeline.evaluation.settings import Preparation
from pipeline.settings import Configuration

CONFIG = Path(__file__).parents[2] / "config"
TEN = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]
SMALR = ("smalr-la", "smalr-hem", "smalr")


@pytest.fixture(scope="module")
def paper() -> Configuration:
    return configuration.load({"scale": "paper"}, CONFIG)


@pytest.mark.parametrize("name", SMALR)
@pytest.mark.parametrize("dataset", ["multi30k", "mscoco"])
def test_a_model_of_smalr_is_trained_as_the_paper_says(paper: Configuration, name: str, dataset: str) -> None:
    found = configuration.experiment_settings(paper, dataset, name, 0)
    assert sorted(found.languages) == sorted(TEN)
    assert found.captions == "augmented"  # Section 4: at least five sentences in each language
    assert found.groups == []
    # Section 3.1
    assert found.triplets.as_values() == {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    # Equation 3, lambda 1
    assert found.matching.as_values() == {"image": 1.5, "sentence": 1, "sentence_only": 0}
    assert found.neighborhood.as_values() == {"weight": 5e-2}  # lambda 4
    once = {"weight": 1e-6, "weight_applied": "once", "mean_over": "sentences"}  # lambda 3
    assert found.classifier.as_values() == once
    assert found.training.learning_rate == 1e-3  # "Visual Features"
    assert (found.training.batch_images, found.training.epochs) == (450, 20)  # as in MULE
    assert found.branches == "shared"
    model = found.model
    assert (model.recurrent, model.universal_dim, model.multimodal_dim) == ("gru", 512, 512)
    assert model.hidden_size == 512  # decided: 7.1M at test time
    assert found.embedding == "hybrid"
    own = 0 if name == "smalr-la" else 5000
    assert found.hybrid.as_values() == {"frequent_words": own, "frequent_dim": 50, "latent_entries": 40_000}
    if name == "smalr":
        assert found.masking.as_values() == {
            "mask_probability": 0.2,
            "weight": 1e-4,
            "matching": 1,
        }  # lambda 2; matching: decided
    else:
        assert found.masking is None


@pytest.mark.parametrize("name", SMALR)
def test_words_are_assigned_as_the_paper_says(paper: Configuration, name: str) -> None:
    found = configuration.assignment_settings(paper, "multi30k", name, 0)
    assert (found.assignment.exploration, found.assignment.top_m) == (0.2, 20)
    for scale in ("demo", "flickr8k", "paper"):  # decided: others collapsed on photographs, docs/smalr.md
        how = configuration.load({"scale": scale}, CONFIG).assignment
        assert (how.gradient, how.pairs) == ("softmax", "all")
    assert (found.training.epochs, found.training.learning_rate) == (5, 1e-3)  # decided
    assert found.hybrid.latent_entries == 40_000
    assert found.universal_dim == 512
    assert found.triplets.as_values() == {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}


def test_languages_are_combined_as_the_paper_says(paper: Configuration) -> None:
    found = configuration.consistency_settings(paper, "multi30k", "smalr", 0, "learned")
    assignment = configuration.assignment_settings(paper, "multi30k", "smalr", 0)
    assert found.preparation == Preparation(assignment=assignment)
    section = {"hidden": 32, "iterations": 30}  # Section 3.4
    decided = {"learning_rate": 1e-2, "initial_weight": 1.0, "activation": "none"}
    assert found.network.as_values() == {**section, **decided}
    assert (found.threads, found.kind) == (1, "learned")
    average = configuration.consistency_settings(paper, "multi30k", "mule-one-en", 0, "average")
    assert (average.threads, average.kind, average.network, average.preparation) == (1, "average", None, None)


def test_queries_in_languages_with_human_captions_are_translated_into_all_others(
    paper: Configuration,
) -> None:
    pairs = configuration.consistency_pairs(paper, "multi30k", "smalr")
    assert {pair[:2] for pair in pairs} == {"en", "de", "fr", "cs"}  # HA of Table 2
    assert len(pairs) == 4 * 9
    assert {pair[:2] for pair in configuration.consistency_pairs(paper, "mscoco", "smalr")} == {
        "en",
        "zh",
        "ja",
    }


def test_machine_translated_captions_are_not_human(paper: Configuration) -> None:
    """The Japanese captions are not queries to translate and not in HA."""
    flickr8k = configuration.load({"scale": "flickr8k"}, CONFIG)
    pairs = configuration.consistency_pairs(flickr8k, "flickr8kcn", "smalr")
    assert {pair[:2] for pair in pairs} == {"en", "zh"}
    human = configuration.table_settings(flickr8k, "smalr/table1").human
    assert human == {"multi30k": ["en", "de", "fr", "cs"], "flickr8kcn": ["en", "zh"]}


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


# Figure 3: how a point's label appears in the name of its experiment.
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


def test_a_point_shows_the_experiment_that_its_words_describe(paper: Configuration) -> None:
    third = paper.tables["smalr/figure3"]
    assert len(third.rows) == 4 + 3 + 4 + 5
    for row in third.rows:
        assert row.experiment == SERIES[row.group or row.method].format(row.method)
    figure = paper.tables["smalr/figure1b"]
    assert (third.averages, figure.averages) == (True, True)
    assert third.columns == {"mscoco": TEN, "multi30k": TEN}
    assert figure.columns == {"mscoco": ["en", "ja"], "multi30k": ["en", "de"]}
    assert [(row.group, row.experiment) for row in figure.rows] == [
        ("MULE", "mule-one"),
        ("MULE", "mule-own"),
        ("MULE", "mule-ten"),
        ("S-LIWE", "liwe-s-one"),
        ("S-LIWE", "liwe-s-two"),
        ("S-LIWE", "liwe-s-ten"),
        ("L-LIWE", "liwe-l-ten"),
        ("SMALR", "smalr"),
    ]
    trained = {name: len(one.languages) for name, one in paper.experiments_on("multi30k").items()}
    names = ["mule-one-de", "mule-own", "mule-ten", "liwe-s-one-de", "liwe-s-two", "liwe-s-ten"]
    assert [trained[name] for name in names] == [1, 4, 10, 1, 2, 10]


def test_mule_with_ten_languages_is_mule_with_augmentation_on_their_captions(paper: Configuration) -> None:
    """Section 4: "at least five sentences" of each image. Its parts are MULE's (test_facts.py)."""
    ten, four = (
        flat(configuration.experiment_settings(paper, "multi30k", name, 0).as_values())
        for name in ("mule-ten", "mule-full-human+mt")
    )
    assert {key for key in ten.keys() | four.keys() if ten.get(key) != four.get(key)} == {
        "experiment", "languages", "captions",
    }  # fmt: skip
    assert (ten["captions"], sorted(ten["languages"])) == ("augmented", sorted(TEN))
    assert paper.experiments["mule-ten"].pretraining


@pytest.mark.parametrize("dataset", ["multi30k", "mscoco"])
@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        ("mule-own", "mule-ten"),
        ("mule-one-en", "mule-ten"),
        ("liwe-s-two", "liwe-s-ten"),
        ("liwe-s-one-en", "liwe-s-ten"),
    ],
)
def test_points_on_a_line_of_figure_1b_differ_only_in_languages(
    paper: Configuration, dataset: str, fewer: str, more: str
) -> None:
    """NC, LC and LP are losses between languages, which a model of one language lacks."""
    first, second = (
        flat(configuration.experiment_settings(paper, dataset, name, 0).as_values()) for name in (fewer, more)
    )
    differing = {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}
    between = {key for key in differing if key.partition(".")[0] in ("neighborhood", "classifier")}
    assert differing - between == {"experiment", "languages"}
    assert not between or fewer == "mule-one-en"
    made = paper.experiments_on(dataset)
    assert made[fewer].captions == made[more].captions == "augmented"
    assert set(made[fewer].languages) < set(made[more].languages)


def test_without_a_service_queries_are_translated_via_english(paper: Configuration) -> None:
    """The demo's provider is a dictionary; a service translates between any two languages."""
    demo = configuration.load({"scale": "demo"}, CONFIG)
    assert configuration.via_english(demo, "multi30k", "de-fr")
    assert not configuration.via_english(demo, "multi30k", "de-en")
    asked = {"scale": "paper", "translation": {"default": {"provider": "google"}}}
    service = configuration.load(asked, CONFIG)
    assert not configuration.via_english(service, "multi30k", "de-fr")
    assert configuration.needs_query_translation(service, "multi30k", "de-fr")
    assert not configuration.needs_query_translation(service, "multi30k", "en-fr")


def test_other_experiments_know_nothing_of_smalr(paper: Configuration) -> None:
    found = configuration.experiment_settings(paper, "multi30k", "mule-full", 0)
    assert not {"hybrid", "masking", "consistency", "assignment"} & found.as_values().keys()


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        (
            {"masking": True},
            "masking: true needs embedding: hybrid",
        ),
        (
            {"embedding": "hybrid", "pretraining": True},
            "embedding: hybrid needs pretraining: false",
        ),
        (
            {"embedding": "hybrid", "vectors": "bert"},
            "embedding: hybrid needs vectors: fasttext or muse",
        ),
        (
            {"embedding": "hybrid", "settings": {"model": {"universal_mean": "padded"}}},
            "embedding: hybrid needs model.universal_mean: words; found padded",
        ),
        (
            {"embedding": "hybrid", "settings": {"model": {"universal_layers": "shared"}}},
            "embedding: hybrid needs model.universal_layers: separate",
        ),
        (
            {"embedding": "hybrid", "reduction": "dictionary-5"},
            "reduction: dictionary needs embedding: universal",
        ),
        (
            {"embedding": "hybrid", "masking": True, "ranking": True},
            "masking: true needs ranking: false",
        ),
    ],
)
def test_contradictions_are_reported(experiment: dict[str, Any], message: str) -> None:
    asked = {"branches": "shared", "captions": "human", **experiment}
    with pytest.raises(Exception, match="mistakes") as caught:
        configuration.load({"scale": "demo", "experiments": {"a": asked}}, CONFIG)
    assert message in str(caught.value)


@pytest.mark.parametrize("shared", [{"universal_layers": "shared"}, {"universal_mean": "padded"}])
def test_a_setting_of_every_model_leaves_hybrid_embeddings_as_they_are(shared: dict[str, str]) -> None:
    (key,) = shared
    loaded = configuration.load({"scale": "demo", "model": shared}, CONFIG)
    of = {
        name: configuration.experiment_settings(loaded, "multi30k", name, 0)
        for name in ("mule-full", "smalr")
    }
    assert getattr(of["mule-full"].model, key) == shared[key] != getattr(of["smalr"].model, key)


def flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Values by their keys, joined by dots."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return found


@pytest.fixture(name="flickr8k")
def small_flickr8k(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> configuration.Configuration:
    """config/flickr8k-small-smalr.yaml over the files before it."""
    for name in ("MIRROR", "FLICKR8K", "DICTIONARIES"):
        monkeypatch.setenv(f"MULTILINGUAL_{name}", str(tmp_path))
    overlays = [
        configuration.read(CONFIG / name) for name in ("flickr8k-small.yaml", "flickr8k-small-smalr.yaml")
    ]
    return configuration.load(configuration.merge(*overlays), CONFIG)


def differing(flickr8k: configuration.Configuration, first: str, second: str) -> set[str]:
    """Keys in which two experiments differ, their assignments included.

    Without recurrence no layer has hidden units.
    """
    models = [configuration.train_settings(flickr8k, "multi30k", name, 0).model for name in (first, second)]
    keys: set[str] = set()
    for of in (configuration.train_settings, configuration.assignment_settings):
        one, other = (flat(of(flickr8k, "multi30k", name, 0).as_values()) for name in (first, second))
        keys |= {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
    unused = {"model.hidden_size"} if all(model.recurrent == "mean" for model in models) else set()
    return keys - {"experiment"} - unused


MASKING = {"masking.mask_probability", "masking.weight", "masking.matching"}


def test_what_rows_of_scale_flickr8k_differ_in(flickr8k: configuration.Configuration) -> None:
    """As config/flickr8k-small-smalr.yaml says."""
    losses = {"triplets.distance", "matching.sentence_only", "neighborhood.weight"}
    embedding = {"embedding", "hybrid.frequent_words", "hybrid.frequent_dim", "hybrid.latent_entries"}
    assert differing(flickr8k, "mule-ten", "hem-word-vectors") == losses
    assert differing(flickr8k, "hem-word-vectors", "smalr-hem") == embedding
    assert differing(flickr8k, "smalr-hem", "smalr") == MASKING


@pytest.mark.parametrize("table", ["embedding", "mclm"])
def test_a_row_differs_from_the_row_before_it_in_one_setting(
    flickr8k: configuration.Configuration, table: str
) -> None:
    names = [row.experiment for row in flickr8k.tables[table].rows]
    found = [differing(flickr8k, *pair) for pair in pairwise(names)]
    expected = {
        "embedding": [
            {"hybrid.frequent_words"},
            {"hybrid.frequent_dim"},
            {"hybrid.frequent_words"},
            {"hybrid.frequent_words"},
            {"assignment.pairs"},
        ],
        "mclm": [MASKING],  # which one switch brings
    }
    assert found == expected[table]
    sizes = [flickr8k.blocks_of(name, flickr8k.experiments[name]).hybrid for name in names[:4]]
    if table == "embedding":
        assert [(size.frequent_words, size.frequent_dim) for size in sizes] == [
            (1_000_000, 300), (1500, 300), (1500, 50), (1_000_000, 50),
        ]  # fmt: skip
