"""Facts of MULE, written down independently, against the configuration and the transcribed tables.

Kim et al., AAAI 2020; "Supp." is its supplement. Earlier systems: Lessons (Kádár et al., CoNLL 2018).
If the paper leaves something open, docs/mule.md explains the value, and the place is "decided".
"""

import hashlib
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from evaluations import PAPERS, printed

from pipeline.settings import reading
from pipeline.settings import stages as configuration
from pipeline.settings.configuration import Configuration
from pipeline.tables.cells import cells
from pipeline.tables.result_files import paper_numbers
from pipeline.tables.tabulate import printed_metrics

CONFIG = Path(__file__).parents[2] / "config"
MULTI30K, MSCOCO = ["en", "de", "fr", "cs"], ["en", "zh", "ja"]  # Table 1
THREE_GROUPS = [["en"], ["en", "ja"], ["en", "zh"]]  # Supp., "Minibatch Construction": MSCOCO's images

# --- Experiments: constraints, and in what else they differ from USUAL
# Tables 2 and 4 to 6: "Single Model: N" is one model per language, and PARALLEL "contains separate language
# branches" ("Model Architecture"). VSE, OE and Gella et al.: Table 5; Lessons, Tables 2 and 3.
USUAL = {"branches": "shared", "languages": "own", "vectors": "fasttext", "captions": "human"}
ONE = {"languages": "one"}
SEPARATE = {"branches": "separate"}
BILINGUAL = {"branches": "separate", "languages": "en, de"}
BOTH = {"captions": "human+mt"}
EXPERIMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "embn": ("", ONE),
    "embn-equal-steps": ("", ONE),  # table equal-steps, which is not the paper's
    "embn-vgg": ("", ONE),
    "parallel-embn": ("", SEPARATE),
    "parallel-embn-2": ("", BILINGUAL),
    "mule-embn": ("", {}),
    "mule-nc": ("NC", {}),
    "mule-lc": ("LC", {}),
    "mule-lp": ("LP", {}),
    "mule-nc-lp": ("NC LP", {}),
    "mule-lc-lp": ("LC LP", {}),
    "mule-nc-lc": ("NC LC", {}),
    "mule-full": ("NC LC LP", {}),
    "muse-embn": ("", {"vectors": "muse"}),
    "muse-parallel-embn": ("", {"vectors": "muse", **SEPARATE}),
    "muse-full": ("NC LC LP", {"vectors": "muse"}),
    "bert-embn": ("", {"vectors": "bert"}),
    "bert-parallel-embn": ("", {"vectors": "bert", **SEPARATE}),
    "embn-human+mt": ("", {**ONE, **BOTH}),
    "parallel-embn-human+mt": ("", {**SEPARATE, **BOTH}),
    "mule-full-mt": ("NC LC LP", {"captions": "mt"}),
    "mule-full-human+mt": ("NC LC LP", BOTH),
    "vse": ("", ONE),
    "order": ("", ONE),
    "parallel-sym": ("", BILINGUAL),
    "parallel-asym": ("", BILINGUAL),
    "pivot-sym": ("", BILINGUAL),
    "pivot-asym": ("", BILINGUAL),
}
EARLIER = ("vse", "order", "parallel-sym", "parallel-asym", "pivot-sym", "pivot-asym")
# --- Settings: key, value and the place in the paper
BOTH_SETTINGS: list[tuple[str, Any, str]] = [  # of MULE's models and of earlier systems
    ("training.precision", "float32", "decided"),
    ("training.threads", 4, "decided"),
    ("training.deterministic", False, "decided"),
    ("training.epoch_unit", "sentences", "decided"),
    ("training.repeat_captions", False, "docs/mule.md"),
    ("training.images_in_batch", "distinct", "Supp.: different 450 images"),
    ("training.learning_rate_decay", 1.0, "Supp.: that we decay exponentially; decided on validation"),
]
OUR_SETTINGS: list[tuple[str, Any, str]] = [
    *BOTH_SETTINGS,
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
    ("model.recurrent_init", "tensorflow", "decided: the authors' code"),
    ("model.image_hidden_size", 2048, "Supp.: output sizes of 2048 and 512"),
    ("model.dropout", 0.5, "decided"),
    ("model.batch_norm_momentum", 0.1, "decided"),
    ("triplets.margin", 0.05, "decided: the authors' code"),
    ("triplets.num_hard_negatives", 10, "Supp.: the K = 10 most violated constraints"),
    ("triplets.distance", "euclidean", "decided: the authors' code"),
    ("matching.image", 1.5, "decided: the authors' code"),
    ("matching.sentence", 1, "decided: the authors' code"),
    ("matching.sentence_only", 0.05, "decided: the authors' code"),
    ("word_regularizer.weight", 5e-7, "Supp.: weight of 5e-7"),
    ("word_regularizer.regularize_toward", "initial", "docs/mule.md"),
    ("features.backbone", "resnet152.tv_in1k", "Supp."),
    ("ranking", None, "Equation 3 is the matching loss"),
]
NC_SETTINGS = [("neighborhood.weight", 1, "Supp., lambda 1 and 3")]
LC_SETTINGS = [
    ("classifier.weight", 1e-6, "Supp., lambda 2"),
    ("classifier.weight_applied", "once", "docs/mule.md"),
    ("classifier.mean_over", "sentences", "docs/mule.md"),
]
EARLIER_SETTINGS: list[tuple[str, Any, str]] = [
    *BOTH_SETTINGS,
    ("training.epochs", 30, "decided: public codes"),
    ("training.learning_rate", 2e-4, "Lessons, Section 3"),
    ("training.max_grad_norm", 2, "decided: public codes"),
    ("training.batch_images", 128, "decided: public codes"),
    ("training.sentences_per_image", 1, "decided: public codes"),
    ("model.encoder", "vse", "Lessons, Section 3"),
    ("model.word_vectors", "scratch", "Lessons, Section 3"),
    ("model.recurrent", "gru", "Lessons, Section 3: GRU of 1,024 units"),
    ("model.hidden_size", 1024, "Lessons, Section 3: GRU of 1,024 units"),
    ("model.similarity", "cosine", "Lessons, Tables 2 and 3: Symmetric"),
    ("ranking.margin", 0.2, "decided: public codes"),
    ("ranking.hinge", "sum", "decided: public codes"),
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
PRETRAINING_SETTINGS: list[tuple[str, Any, str]] = [
    ("training.epochs", 5, "decided: the paper says only pretraining MULE with paired sentences"),
    ("training.learning_rate", 1e-4, "decided"),
    ("training.batch_images", 450, "decided"),
    ("triplets.margin", 0.05, "decided"),
    ("triplets.num_hard_negatives", 10, "decided"),
    ("triplets.distance", "euclidean", "decided"),
]
CONFIGURATION: list[tuple[str, Any, str]] = [
    ("images.crop", 448, "Supp.: averaged over 10 crops with input image dimensions of 448x448"),
    ("images.crops", 10, "Supp.: averaged over 10 crops"),
    ("images.resize", 512, "decided"),
    ("images.dimension", 2048, "Supp."),
    ("words.vectors", "file", "Supp.: published FastText vectors"),
    ("words.dimension", 300, "Supp.: FastText of 300"),
    ("words.casing", "lowercase", "decided"),
    ("muse", "file", "MUSE's published vectors"),
    ("bert.model", "google-bert/bert-base-multilingual-cased", "12 layers, 110M"),
    ("bert.layer", -2, "default of bert-as-service"),
    ("bert.max_tokens", 25, "default of bert-as-service"),
    ("datasets.multi30k.languages", MULTI30K, "Table 1"),
    ("datasets.multi30k.split", "multi30k", "Datasets"),
    ("datasets.multi30k.groups", [], "Datasets"),
    ("datasets.multi30k.caption_origins", {}, "Datasets"),
    ("datasets.multi30k.max_caption_length", 40, "decided: the authors' code"),
    ("datasets.mscoco.languages", MSCOCO, "Table 1"),
    ("datasets.mscoco.sample_size", 1000, "Datasets: 1K images for the testing and validation sets"),
    ("datasets.mscoco.split_seed", 0, "decided"),
    ("datasets.mscoco.groups", THREE_GROUPS, "Supp.: three groups"),
    ("datasets.mscoco.caption_origins", {}, "Datasets"),
    ("datasets.mscoco.max_caption_length", 60, "decided: the authors' code"),
]
FEATURES = {  # backbone, dimension, resize, crop, crops
    "vgg": ("vgg19.tv_in1k", 4096, 256, 224, 10),  # decided
    "resnet50": ("resnet50.tv_in1k", 2048, 256, 224, 1),  # Lessons: 2048-d, average pooled; crop decided
}


@pytest.fixture(scope="module")
def paper() -> Configuration:
    """The configuration of scale paper."""
    return reading.load({"scale": "paper"}, CONFIG)


def value(settings: Any, key: str) -> Any:
    """The value of a key; its parts are joined by dots."""

    def inner(of: Any, part: str) -> Any:
        return of[part] if isinstance(of, dict) else getattr(of, part)

    return reduce(inner, key.split("."), settings)


def settings_of(paper: Configuration, name: str) -> Any:
    """Settings on Multi30K; if there is one model per language, of the English one."""
    one = EXPERIMENTS[name][1].get("languages") == "one"
    return configuration.experiment_settings(paper, "multi30k", f"{name}-en" if one else name, 0)


def test_there_are_no_other_experiments(paper: Configuration) -> None:
    """Except the experiments of Lessons, which select captions (test_lessons_facts.py), and of SMALR."""
    smalr = {row.experiment for name in paper.tables if "smalr" in name for row in paper.tables[name].rows}
    lessons = {name for name, made in paper.experiments.items() if made.selection}
    assert set(paper.experiments) - lessons - smalr <= set(EXPERIMENTS) <= set(paper.experiments)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_what_its_row_says(paper: Configuration, name: str) -> None:
    constraints, other = EXPERIMENTS[name]
    expected = {**USUAL, **other}
    found, made = settings_of(paper, name), paper.experiments[name]
    switched = {"NC": found.neighborhood, "LC": found.classifier, "LP": made.pretraining}
    assert [part for part, switch in switched.items() if switch] == constraints.split()
    assert (found.branches, found.captions) == (expected["branches"], expected["captions"])
    assert made.vectors == expected["vectors"]
    for dataset, own in {"multi30k": MULTI30K, "mscoco": MSCOCO}.items():
        on = {key: one.languages for key, one in paper.experiments_on(dataset).items()}
        if expected["languages"] == "one":
            assert [on[f"{name}-{code}"] for code in own] == [[code] for code in own]
        else:
            named = own if expected["languages"] == "own" else expected["languages"].split(", ")
            assert on[name] == [code for code in own if code in named]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_settings_are_the_papers(paper: Configuration, name: str) -> None:
    constraints = EXPERIMENTS[name][0]
    facts: list[tuple[str, Any, str]] = [
        *(EARLIER_SETTINGS if name in EARLIER else OUR_SETTINGS),
        *(NC_SETTINGS if "NC" in constraints else []),
        *(LC_SETTINGS if "LC" in constraints else []),
    ]
    expected = {key: value for key, value, _ in facts} | EXCEPTIONS.get(name, {})
    found = settings_of(paper, name)
    assert {key: value(found, key) for key in expected} == expected
    if "LP" in constraints:
        before = configuration.pretraining_settings(paper, "multi30k", name, 0)
        assert {key: value(before, key) for key, *_ in PRETRAINING_SETTINGS} == {
            key: value for key, value, _ in PRETRAINING_SETTINGS
        }


@pytest.mark.parametrize(("key", "expected", "place"), CONFIGURATION)
def test_data_images_and_words_are_the_papers(
    paper: Configuration, key: str, expected: Any, place: str
) -> None:
    assert value(paper, key) == expected, place


@pytest.mark.parametrize("name", FEATURES)
def test_other_features_are_the_papers(paper: Configuration, name: str) -> None:
    found = paper.images.feature_settings(name)
    assert (found.backbone, found.dimension, found.resize, found.crop, found.crops) == FEATURES[name]
    assert found.weights == "timm"


def test_images_are_drawn_by_groups_only_with_human_captions(paper: Configuration) -> None:
    """Supp.: three groups of MSCOCO's images; with translations every image has every language."""
    for name, experiment in paper.experiments_on("mscoco").items():
        if experiment.selection:  # experiments of Lessons, which sample captions
            continue
        alone = len(experiment.languages) == 1 and experiment.captions != "augmented"
        human = experiment.captions == "human" or alone
        expected = THREE_GROUPS if human and experiment.vectors != "characters" else []  # LIWE has no groups
        trained: Any = configuration.experiment_settings(paper, "mscoco", name, 0)
        pretrained = configuration.pretraining_settings(paper, "mscoco", name, 0)
        assert trained.groups == pretrained.groups == expected, name


# --- Tables


@pytest.mark.parametrize("table", [f"table{number}" for number in (2, 3, 4, 6, 7, 8, 9, 10, 11)])
def test_a_row_shows_the_experiment_that_its_words_describe(paper: Configuration, table: str) -> None:
    """Read from the words that the paper prints; "an English EmbN model" answers translated queries."""
    for row in paper.tables[table].rows:
        method, group, data = row.method, row.group or "", row.training_data or ""
        words = method.replace("+", " ").replace("(", " ").split()
        translated = "English Model" in method or "Machine Translated Query" in method
        captions = "human"
        if "Trans Only" in method or "Machine Translations Only" in data:
            captions = "mt"
        elif "Augmentation" in group or "+ Machine Translations" in data:
            captions = "human+mt"
        parts = [part for part in ("NC", "LC", "LP") if part in words or "Full" in method]
        described = {
            "branches": "separate" if "PARALLEL" in method else "shared",
            "languages": "one" if row.single_model == "N" or translated else "own",
            "vectors": {"MUSE": "muse", "ML BERT": "bert"}.get(group, "fasttext"),
            "captions": captions,
        }
        constraints, other = EXPERIMENTS[row.experiment.removesuffix("-en")]
        assert (parts, described) == (constraints.split(), {**USUAL, **other}), row
        assert (row.queries == "translated") == (row.experiment == "embn-en") == translated
        assert row.experiment not in (*EARLIER, "embn-vgg", "embn-equal-steps")


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
    """Rows and columns against the transcription."""
    numbers = printed(table)
    single = {"mR"}  # which is shown next to single recalls, even if the paper has none
    assert set(printed_metrics(paper.tables[table])) - single == {n["metric"] for n in numbers} - single
    found = {
        (str(cell.row.row), cell.row.method, cell.dataset, cell.language)
        for cell in cells(configuration.table_settings(paper, table))
        if not (cell.row.section or "").endswith(OF_THE_CODE)
    }
    assert found == {(n["row"], n["method"], n["dataset"], n["language"]) for n in numbers}


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
