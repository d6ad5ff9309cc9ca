"""Facts of MULE, written down independently, against the configuration and the transcribed tables.

Kim et al., AAAI 2020; "Supp." is its supplement. Earlier systems: Lessons (Kádár et al., CoNLL 2018).
Values that the paper leaves open are explained in docs/mule.md, and shown by tests/golden/paper.txt.
"""

import hashlib
from functools import reduce
from typing import Any

import pytest
from evaluations import PAPERS, printed

from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.configuration import Configuration
from pipeline.tables.cells import cells
from pipeline.tables.result_files import paper_numbers
from pipeline.tables.tabulate import printed_metrics

MULTI30K, MSCOCO = ["en", "de", "fr", "cs"], ["en", "zh", "ja"]  # Table 1
THREE_GROUPS = [["en"], ["en", "ja"], ["en", "zh"]]  # Supp., "Minibatch Construction": MSCOCO's images

# VSE, OE and Gella et al., for each language or for two (MULE, Table 5; Lessons, Tables 2 and 3).
EARLIER = ("vse", "order", "parallel-sym", "parallel-asym", "pivot-sym", "pivot-asym")
OF_TABLES = [f"table{number}" for number in (2, 3, 4, 6, 7, 8, 9, 10, 11)]  # with models of MULE

# --- Settings: key, value and the place in the paper
OUR_SETTINGS: list[tuple[str, Any, str]] = [
    ("training.images_in_batch", "distinct", "Supp.: different 450 images"),
    ("training.learning_rate_decay", 1.0, "Supp.: that we decay exponentially; decided on validation"),
    ("training.epochs", 20, "Supp., Implementation Details"),
    ("training.learning_rate", 1e-4, "Supp., Implementation Details"),
    ("training.max_grad_norm", None, "Supp. names none"),
    ("training.batch_images", 450, "Supp., Minibatch Construction"),
    ("training.sentences_per_image", 2, "Supp., Minibatch Construction"),
    ("model.encoder", "embn", "Figure 2"),
    ("model.word_vectors", "pretrained", "Supp.: we fine-tune the FastText embeddings"),
    ("model.similarity", "cosine", "Figure 2"),
    ("model.universal_dim", 512, "Supp.: a 512-dimensional universal embedding"),
    ("model.universal_layers", "separate", "Model Architecture"),
    ("model.universal_mean", "words", "mean-pooled universal embedding features"),
    ("model.multimodal_dim", 512, "Supp.: the final 512-dimensional multimodal embedding space"),
    ("model.recurrent", "lstm", "Supp.: an LSTM with 1024 units"),
    ("model.hidden_size", 1024, "Supp.: an LSTM with 1024 units"),
    ("model.image_hidden_size", 2048, "Supp.: output sizes of 2048 and 512"),
    ("triplets.num_hard_negatives", 10, "Supp.: the K = 10 most violated constraints"),
    ("word_regularizer.weight", 5e-7, "Supp.: weight of 5e-7"),
    ("features.backbone", "resnet152.tv_in1k", "Supp."),
    ("ranking", None, "Equation 3 is the matching loss"),
]
NC_SETTINGS = [("neighborhood.weight", 1, "Supp., lambda 1 and 3")]
LC_SETTINGS = [("classifier.weight", 1e-6, "Supp., lambda 2")]
EARLIER_SETTINGS: list[tuple[str, Any, str]] = [
    ("training.learning_rate", 2e-4, "Lessons, Section 3"),
    ("model.encoder", "vse", "Lessons, Section 3"),
    ("model.word_vectors", "scratch", "Lessons, Section 3"),
    ("model.recurrent", "gru", "Lessons, Section 3: GRU of 1,024 units"),
    ("model.hidden_size", 1024, "Lessons, Section 3: GRU of 1,024 units"),
    ("model.similarity", "cosine", "Lessons, Tables 2 and 3: Symmetric"),
    ("ranking.caption_caption", 0, "only Gella et al. compare captions"),
    ("word_regularizer.weight", 0, "words from scratch"),
    ("matching", None, "a ranking loss in its place"),
    ("triplets", None, "a ranking loss in its place"),
    ("features.backbone", "vgg19.tv_in1k", "Table 5"),
]
# Vendrov et al. (2016), order embeddings, with the rate of their code; Lessons: "Asymmetric".
ORDER = {"model.similarity": "order", "ranking.margin": 0.05, "training.learning_rate": 1e-3}
SENTENCES = {"model.recurrent": "mlp"}  # BERT's vectors are of sentences
EXCEPTIONS: dict[str, dict[str, Any]] = {
    "embn-vgg": {"features.backbone": "vgg19.tv_in1k"},  # Table 5
    "muse-embn": {"model.universal_layers": "shared"},  # "Multi30K Discussion": "already aligned"
    "bert-embn": {**SENTENCES, "model.universal_layers": "shared"},
    "bert-parallel-embn": SENTENCES,
    "order": ORDER,
    "parallel-sym": {"ranking.caption_caption": 1},
    "parallel-asym": {**ORDER, "ranking.caption_caption": 1},
    "pivot-asym": ORDER,
}
CONFIGURATION: list[tuple[str, Any, str]] = [
    ("images.crop", 448, "Supp.: averaged over 10 crops with input image dimensions of 448x448"),
    ("images.crops", 10, "Supp.: averaged over 10 crops"),
    ("images.dimension", 2048, "Supp."),
    ("words.vectors", "file", "Supp.: published FastText vectors"),
    ("words.dimension", 300, "Supp.: FastText of 300"),
    ("muse", "file", "MUSE's published vectors"),
    ("bert.model", "google-bert/bert-base-multilingual-cased", "12 layers, 110M"),
    ("bert.layer", -2, "default of bert-as-service"),
    ("bert.max_tokens", 25, "default of bert-as-service"),
    ("datasets.multi30k.languages", MULTI30K, "Table 1"),
    ("datasets.multi30k.split", "multi30k", "Datasets"),
    ("datasets.multi30k.groups", [], "Datasets"),
    ("datasets.mscoco.languages", MSCOCO, "Table 1"),
    ("datasets.mscoco.sample_size", 1000, "Datasets: 1K images for the testing and validation sets"),
    ("datasets.mscoco.groups", THREE_GROUPS, "Supp.: three groups"),
]


@pytest.fixture(scope="module")
def paper() -> Configuration:
    """The configuration of scale paper."""
    return reading.load({"scale": "paper"})


def value(settings: Any, key: str) -> Any:
    """The value of a key; its parts are joined by dots."""

    def inner(of: Any, part: str) -> Any:
        return of[part] if isinstance(of, dict) else getattr(of, part)

    return reduce(inner, key.split("."), settings)


def made_as(paper: Configuration, name: str) -> tuple[list[str], dict[str, str]]:
    """The constraints and what else distinguishes an experiment, in the words of a table's row."""
    trained, made = stage_settings.train_settings(paper, "multi30k", name, 0), paper.experiments.get(name)
    made = made or paper.experiments[name.removesuffix("-en")]
    switched = {"NC": trained.neighborhood, "LC": trained.classifier, "LP": made.pretraining}
    return [part for part, switch in switched.items() if switch], {
        "branches": trained.branches,
        "languages": "one" if made.one_per_language else "own",
        "vectors": made.vectors,
        "captions": trained.captions,
    }


@pytest.mark.parametrize("table", OF_TABLES)
def test_a_row_shows_the_experiment_that_its_words_describe(paper: Configuration, table: str) -> None:
    """Read from the words that the paper prints; "an English EmbN model" answers translated queries.

    "Single Model: N" is one model per language, and PARALLEL "contains separate language branches" ("Model
    Architecture").
    """
    for row in paper.tables[table].rows:
        method, group, data = row.method, row.group or "", row.training_data or ""
        words = method.replace("+", " ").replace("(", " ").split()
        translated = "English Model" in method or "Machine Translated Query" in method
        captions = "human"
        if "Trans Only" in method or "Machine Translations Only" in data:
            captions = "mt"
        elif "Augmentation" in group or "+ Machine Translations" in data:
            captions = "human+mt"
        described = {
            "branches": "separate" if "PARALLEL" in method else "shared",
            "languages": "one" if row.single_model == "N" or translated else "own",
            "vectors": {"MUSE": "muse", "ML BERT": "bert"}.get(group, "fasttext"),
            "captions": captions,
        }
        one = row.experiment if translated or described["languages"] == "own" else f"{row.experiment}-en"
        constraints = [part for part in ("NC", "LC", "LP") if part in words or "Full" in method]
        assert made_as(paper, one) == (constraints, described), row
        assert (row.queries == "translated") == (row.experiment == "embn-en") == translated
        assert row.experiment not in (*EARLIER, "embn-vgg", "embn-equal-steps")


def test_a_model_has_one_language_two_or_all_of_its_data_set(paper: Configuration) -> None:
    for dataset, own in {"multi30k": MULTI30K, "mscoco": MSCOCO}.items():
        on = {name: made.languages for name, made in paper.experiments_on(dataset).items()}
        assert on["mule-full"] == on["parallel-embn"] == own
        for name in ("embn", "embn-human+mt", "vse", "order"):
            assert [on[f"{name}-{code}"] for code in own] == [[code] for code in own]
        two = [code for code in own if code in ("en", "de")]
        assert all(on[name] == two for name in ("parallel-embn-2", *EARLIER[2:]))
    assert {paper.experiments[name].branches for name in ("parallel-embn-2", *EARLIER[2:])} == {"separate"}


def test_settings_are_the_papers(paper: Configuration) -> None:
    ours = {row.experiment.removesuffix("-en") for table in OF_TABLES for row in paper.tables[table].rows}
    assert len(ours) == 19
    for name in (*ours, "parallel-embn-2", "embn-vgg", "embn-equal-steps", *EARLIER):
        one = f"{name}-en" if paper.experiments[name].one_per_language else name
        constraints, _ = made_as(paper, one)
        facts: list[tuple[str, Any, str]] = [
            *(EARLIER_SETTINGS if name in EARLIER else OUR_SETTINGS),
            *(NC_SETTINGS if "NC" in constraints else []),
            *(LC_SETTINGS if "LC" in constraints else []),
        ]
        expected = {key: value for key, value, _ in facts} | EXCEPTIONS.get(name, {})
        found = stage_settings.experiment_settings(paper, "multi30k", one, 0)
        assert {key: value(found, key) for key in expected} == expected, name


@pytest.mark.parametrize(("key", "expected", "place"), CONFIGURATION)
def test_data_images_and_words_are_the_papers(
    paper: Configuration, key: str, expected: Any, place: str
) -> None:
    assert value(paper, key) == expected, place


def test_other_features_are_the_papers(paper: Configuration) -> None:
    vgg, resnet = (paper.images.feature_settings(name) for name in ("vgg", "resnet50"))
    assert (vgg.backbone, vgg.dimension) == ("vgg19.tv_in1k", 4096)  # Table 5
    # Lessons, Section 3: 2048 numbers, average pooled
    assert (resnet.backbone, resnet.dimension, resnet.crops) == ("resnet50.tv_in1k", 2048, 1)


def test_images_are_drawn_by_groups_only_with_human_captions(paper: Configuration) -> None:
    """Supp.: three groups of MSCOCO's images; with translations every image has every language."""
    for name, experiment in paper.experiments_on("mscoco").items():
        if experiment.selection:  # experiments of Lessons, which sample captions
            continue
        alone = len(experiment.languages) == 1 and experiment.captions != "augmented"
        human = experiment.captions == "human" or alone
        expected = THREE_GROUPS if human and experiment.vectors != "characters" else []  # LIWE has no groups
        trained: Any = stage_settings.experiment_settings(paper, "mscoco", name, 0)
        pretrained = stage_settings.pretraining_settings(paper, "mscoco", name, 0)
        assert trained.groups == pretrained.groups == expected, name


# --- Tables


MULE_TABLE_5 = [
    ("VSE", "vse"),
    ("Order Embeddings", "order"),
    ("PARALLEL-SYM", "parallel-sym"),
    ("PARALLEL-ASYM", "parallel-asym"),
    ("EmbN (our implementation)", "embn-vgg"),
    ("EmbN", "embn"),
    ("PARALLEL-EmbN (2 Lang)", "parallel-embn-2"),
    ("PARALLEL-EmbN", "parallel-embn"),
]
LESSONS_TABLES_2_AND_3 = [
    ("VSE", "vse"),
    ("Pivot-Sym", "pivot-sym"),
    ("Parallel-Sym", "parallel-sym"),
    ("OE", "order"),
    ("Pivot-Asym", "pivot-asym"),
    ("Parallel-Asym", "parallel-asym"),
]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("table5", MULE_TABLE_5),
        ("lessons/table2", LESSONS_TABLES_2_AND_3),
        ("lessons/table3", LESSONS_TABLES_2_AND_3),
    ],
)
def test_rows_of_earlier_systems(paper: Configuration, table: str, rows: list[tuple[str, str]]) -> None:
    assert [(row.method, row.experiment) for row in paper.tables[table].rows][: len(rows)] == rows


# Sections of rows of Lessons that follow the published code, for which the paper prints nothing.
OF_THE_CODE = ("as published code", "alone")
PRINTED = [f"table{number}" for number in range(2, 12)] + [f"lessons/table{number}" for number in range(2, 8)]


@pytest.mark.parametrize("table", PRINTED)
def test_a_table_has_a_cell_for_each_number_that_the_paper_prints(paper: Configuration, table: str) -> None:
    """Rows, and columns in their order, against the transcription."""
    numbers = printed(table)
    single = {"mR"}  # which is shown next to single recalls, even if the paper has none
    assert set(printed_metrics(paper.tables[table])) - single == {n["metric"] for n in numbers} - single
    found = [
        (str(cell.row.row), cell.row.method, cell.dataset, cell.language)
        for cell in cells(stage_settings.table_settings(paper, table))
        if not (cell.row.section or "").endswith(OF_THE_CODE)
    ]
    columns = [(n["dataset"], n["language"]) for n in numbers]
    assert set(found) == {(n["row"], n["method"], n["dataset"], n["language"]) for n in numbers}
    assert list(dict.fromkeys(one[2:] for one in found)) == list(dict.fromkeys(columns))


# --- The transcribed numbers

DIGEST = "91d9c470fbc31e81aaa66f0fdd9cf5034fd4af861e7db2bd0dcc79ca8443c2ea"
RECALLS = [f"{way}_R@{k}" for way in ("i2s", "s2i") for k in (1, 5, 10)]

# Printed mR that are not the mean of the six recalls printed next to them: (table, row, data set, language).
SLIPS = {
    ("7", "11", "multi30k", "fr"): (54.0, 53.82),
    ("9", "12", "mscoco", "zh"): (58.8, 58.08),
    ("10", "6", "mscoco", "ja"): (69.6, 69.72),
    ("10", "10", "mscoco", "ja"): (70.0, 70.15),
    ("10", "14", "mscoco", "ja"): (73.2, 73.40),
    ("11", "16", "multi30k", "en"): (72.0, 72.50),
}


def test_no_digit_of_the_transcription_has_changed() -> None:
    """Whoever transcribes a table again must look at the paper and replace this digest."""
    numbers = [
        (path.relative_to(PAPERS).with_suffix("").as_posix(), *place, value)
        for path in PAPERS.rglob("*.csv")
        for place, value in paper_numbers([path]).items()
    ]
    assert len(numbers) == 1543
    text = "\n".join("\t".join(number) for number in sorted(numbers))
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST


def test_mean_recall_is_the_mean_of_the_six_recalls_except_for_the_papers_slips() -> None:
    """MULE, "Metrics". Rounding explains a difference of 0.1: 0.05 of the mR, and 0.05 of the mean."""
    recalls: dict[tuple[str, ...], dict[str, float]] = {}
    for n in printed(*(f"table{number}" for number in range(2, 12))):
        place = (n["table"].removeprefix("table"), n["row"], n["dataset"], n["language"])
        recalls.setdefault(place, {})[n["metric"]] = float(n["value"])
    whole = {place: values for place, values in recalls.items() if set(values) == {*RECALLS, "mR"}}
    assert len(whole) == 144
    means = {place: sum(values[metric] for metric in RECALLS) / 6 for place, values in whole.items()}
    slips = {
        place: (values["mR"], round(means[place], 2))
        for place, values in whole.items()
        if abs(values["mR"] - means[place]) > 0.1 + 1e-9
    }
    assert slips == SLIPS
