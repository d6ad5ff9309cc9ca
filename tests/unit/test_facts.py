"""Facts from the papers, written down independently, against the configuration and the transcribed tables.

MULE: Kim et al., AAAI 2020; "Supp." is its supplement. Lessons: Kádár et al., CoNLL 2018. Where a paper
leaves something open, docs/mule.md says why a value is as it is, and the comment here is "decided".
"""

import hashlib
from pathlib import Path

import pytest
from evaluations import PAPERS, printed

from pipeline import settings as configuration
from pipeline.settings import Configuration
from pipeline.tables.cells import cells
from pipeline.tables.result_files import paper_numbers
from pipeline.tables.settings import Row
from pipeline.tables.tabulate import printed_metrics
from pipeline.training.settings import LessonsSettings, TrainSettings

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config"

# --- Experiments: what each has switched on at scale paper, on Multi30K

NC, LC, LP = "neighborhood", "classifier", "pretraining"
PARTS: dict[str, set[str]] = {
    "embn": set(),  # MULE, "Model Architecture": only the multimodal network of Figure 2
    "embn-equal-steps": set(),  # table equal-steps, which is not the paper's
    "parallel-embn": set(),
    "parallel-embn-2": set(),
    "mule-embn": set(),  # MULE, Table 2(d) and Table 6(d): the parts as the row's name says
    "mule-nc": {NC},
    "mule-lc": {LC},
    "mule-lp": {LP},
    "mule-nc-lp": {NC, LP},
    "mule-lc-lp": {LC, LP},
    "mule-nc-lc": {NC, LC},
    "mule-full": {NC, LC, LP},
    "muse-embn": set(),  # MULE, Table 2(c)
    "muse-parallel-embn": set(),
    "muse-full": {NC, LC, LP},
    "bert-embn": set(),  # MULE, Table 2(b)
    "bert-parallel-embn": set(),
    "embn-human+mt": set(),  # MULE, Table 4(b)
    "parallel-embn-human+mt": set(),
    "mule-full-mt": {NC, LC, LP},
    "mule-full-human+mt": {NC, LC, LP},
    "vse": set(),  # MULE, Table 5(a); Lessons, Tables 2 and 3
    "order": set(),
    "parallel-sym": set(),
    "parallel-asym": set(),
    "embn-vgg": set(),
    "pivot-sym": set(),
    "pivot-asym": set(),
}
# MULE, "Model Architecture": PARALLEL "contains separate language branches", as do the models of Gella et al.
SEPARATE = {
    "parallel-embn", "parallel-embn-2", "muse-parallel-embn", "bert-parallel-embn", "parallel-embn-human+mt",
    "parallel-sym", "parallel-asym", "pivot-sym", "pivot-asym",
}  # fmt: skip
# MULE, Tables 2 and 4 to 5, "Single Model: N"; Lessons' VSE, OE and Monolingual are of one language as well.
MONOLINGUAL = {"embn", "embn-equal-steps", "embn-human+mt", "embn-vgg", "vse", "order"}
# MULE, Table 5: "trained on English and German only"; Lessons, Tables 2 and 3: bilingual models.
BILINGUAL = {
    "parallel-embn-2", "parallel-sym", "parallel-asym", "pivot-sym", "pivot-asym",
}  # fmt: skip
# MULE, Table 4, "Training Data Source".
CAPTIONS = {
    "embn-human+mt": "human+mt",
    "parallel-embn-human+mt": "human+mt",
    "mule-full-human+mt": "human+mt",
    "mule-full-mt": "mt",
}
# Vendrov et al. (2016): order embeddings; Lessons, Tables 2 and 3: "Asymmetric".
ORDER = {"order", "parallel-asym", "pivot-asym"}
# (margin, hinge, weight of captions against captions).
RANKING = {
    "vse": (0.2, "sum", 0),  # decided: margins of the public codes of VSE and order embeddings
    "order": (0.05, "sum", 0),
    "parallel-sym": (0.2, "sum", 1),
    "parallel-asym": (0.05, "sum", 1),
    "pivot-sym": (0.2, "sum", 0),
    "pivot-asym": (0.05, "sum", 0),
}
LANGUAGES = {"multi30k": ["en", "de", "fr", "cs"], "mscoco": ["en", "zh", "ja"]}  # MULE, Table 1


@pytest.fixture(scope="module")
def paper() -> Configuration:
    """The configuration of scale paper."""
    return configuration.load({"scale": "paper"}, CONFIG)


def settings_of(
    paper: Configuration, name: str, dataset: str = "multi30k"
) -> TrainSettings | LessonsSettings:
    """Settings of an experiment; if it has one model per language, of the English one."""
    return configuration.experiment_settings(paper, dataset, f"{name}-en" if name in MONOLINGUAL else name, 0)


def test_there_are_no_other_experiments(paper: Configuration) -> None:
    """Except those of *Lessons*, which select captions (test_lessons_facts.py), and of SMALR."""
    elsewhere = {name for name, made in paper.experiments.items() if made.selection} | {
        row.experiment for name in paper.tables if "smalr" in name for row in paper.tables[name].rows
    }
    assert set(paper.experiments) - elsewhere <= set(PARTS)
    assert set(PARTS) <= set(paper.experiments)


@pytest.mark.parametrize("name", PARTS)
def test_an_experiment_has_the_parts_in_its_name(paper: Configuration, name: str) -> None:
    found = settings_of(paper, name)
    assert {part for part in (NC, LC) if getattr(found, part)} == PARTS[name] - {LP}
    assert bool(paper.experiments[name].pretraining) == (LP in PARTS[name])
    assert found.branches == ("separate" if name in SEPARATE else "shared")
    assert found.captions == CAPTIONS.get(name, "human")
    assert (paper.experiments[name].vectors or "fasttext") == (
        name.split("-")[0] if name.startswith(("muse", "bert")) else "fasttext"
    )
    if PARTS[name] & {NC}:
        # Supp., "Implementation Details": lambda 1 and 3 are 1
        assert found.neighborhood.as_values() == {"weight": 1}
    if PARTS[name] & {LC}:
        # Supp.: lambda 2
        once = {"weight": 1e-6, "weight_applied": "once", "mean_over": "sentences"}
        assert found.classifier.as_values() == once


@pytest.mark.parametrize("name", PARTS)
def test_an_experiment_has_the_languages_that_the_table_says(paper: Configuration, name: str) -> None:
    for dataset, languages in LANGUAGES.items():
        expanded = paper.experiments_on(dataset)
        if name in MONOLINGUAL:
            for language in languages:
                assert expanded[f"{name}-{language}"].languages == [language]
        elif name in BILINGUAL:
            assert expanded[name].languages == [code for code in ("en", "de") if code in languages]
        else:
            assert expanded[name].languages == languages


@pytest.mark.parametrize("name", RANKING)
def test_earlier_systems_are_as_published(paper: Configuration, name: str) -> None:
    """Lessons, Section 3: GRU of 1,024 units, words of 300 from scratch, learning rate 2e-4."""
    found = settings_of(paper, name)
    margin, hinge, between = RANKING[name]
    assert found.ranking.as_values() == {"margin": margin, "hinge": hinge, "caption_caption": between}
    model, training = found.model, found.training
    assert (model.encoder, model.word_vectors, model.recurrent) == ("vse", "scratch", "gru")
    assert (model.hidden_size, paper.words.dimension) == (1024, 300)
    assert model.similarity == ("order" if name in ORDER else "cosine")
    # Decided: rate of order embeddings, batches, epochs, and length of gradients as in the public codes.
    assert training.learning_rate == (1e-3 if name in ORDER else 2e-4)
    assert (training.batch_images, training.epochs, training.max_grad_norm) == (128, 30, 2)
    assert (training.sentences_per_image, training.epoch_unit) == (1, "sentences")
    assert found.word_regularizer.weight == 0
    assert found.matching is None and found.triplets is None
    assert found.features.backbone == "vgg19.tv_in1k"


def test_no_other_experiment_belongs_to_the_earlier_systems(paper: Configuration) -> None:
    for name in set(PARTS) - set(RANKING):
        found = settings_of(paper, name)
        assert found.ranking is None
        assert (found.model.encoder, found.model.similarity) == ("embn", "cosine")
        backbone = "vgg19.tv_in1k" if name == "embn-vgg" else "resnet152.tv_in1k"
        assert found.features.backbone == backbone


def test_aligned_vectors_need_no_layer_of_their_own_for_each_language(paper: Configuration) -> None:
    """MULE, "Multi30K Discussion": one EmbN for MUSE, "already aligned"; PARALLEL and full are decided."""
    shared = {name for name in PARTS if settings_of(paper, name).model.universal_layers == "shared"}
    assert shared == {"muse-embn", "bert-embn"}
    layers = {name for name in PARTS if settings_of(paper, name).model.recurrent == "mlp"}
    assert layers == {"bert-embn", "bert-parallel-embn"}


# --- Scale paper


@pytest.mark.parametrize("name", sorted(set(PARTS) - set(RANKING)))
def test_the_papers_sizes_and_rates(paper: Configuration, name: str) -> None:
    """MULE, Supp., "Implementation Details", unless another place is named."""
    found = settings_of(paper, name)
    bert = name.startswith("bert")
    assert found.model.as_values() == {
        "encoder": "embn",
        "word_vectors": "pretrained",  # "we fine-tune the FastText embeddings"
        "similarity": "cosine",
        "universal_dim": 512,  # "a 512-dimensional universal embedding"
        "universal_layers": "shared" if name in ("muse-embn", "bert-embn") else "separate",
        "multimodal_dim": 512,  # "the final 512-dimensional multimodal embedding space"
        "recurrent": "mlp" if bert else "lstm",  # "an LSTM with 1024 units"
        "recurrent_init": "tensorflow",  # as the authors' code; measured (docs/mule.md)
        "hidden_size": 1024,
        "image_hidden_size": 2048,  # "output sizes of 2048 and 512"
        "dropout": 0.5,  # decided
        "batch_norm_momentum": 0.1,  # decided
        "universal_mean": "words",  # "mean-pooled universal embedding features"
    }
    # "the K = 10 most violated constraints"; margin and distance are decided.
    assert found.triplets.as_values() == {"margin": 0.05, "num_hard_negatives": 10, "distance": "euclidean"}
    # Decided: authors' code.
    assert found.matching.as_values() == {"image": 1.5, "sentence": 1, "sentence_only": 0.05}
    # "weight of 5e-7"
    assert found.word_regularizer.as_values() == {"weight": 5e-7, "regularize_toward": "initial"}
    assert found.training.model_dump() == {
        "epochs": 20,
        "epoch_unit": "sentences",  # decided
        "learning_rate": 1e-4,
        "learning_rate_decay": 1.0,  # "that we decay exponentially": decided on validation
        "max_grad_norm": None,
        "batch_images": 450,
        "sentences_per_image": 2,  # Supp., "Minibatch Construction"
        "repeat_captions": False,
        "images_in_batch": "distinct",  # "different 450 images"
        "precision": "float32",
        "threads": 4,
        "deterministic": False,
    }


@pytest.mark.parametrize("name", sorted(name for name, parts in PARTS.items() if LP in parts))
def test_pretraining_is_as_the_authors_code_has_it(paper: Configuration, name: str) -> None:
    """The paper says no more than "pretraining MULE with paired sentences"."""
    found = configuration.pretraining_settings(paper, "multi30k", name, 0)
    assert (found.training.epochs, found.training.learning_rate) == (5, 1e-4)
    assert found.training.batch_images == 450
    assert found.triplets.as_values() == {"margin": 0.05, "num_hard_negatives": 10, "distance": "euclidean"}


def test_images_and_words_of_the_papers(paper: Configuration) -> None:
    """MULE, Supp.: "averaged over 10 crops with input image dimensions of 448x448"; FastText of 300."""
    sizes = ("backbone", "dimension", "resize", "crop", "crops")
    sets = {name: paper.images.feature_settings(name) for name in (None, "vgg", "resnet50")}
    found = {name: tuple(getattr(of, size) for size in sizes) for name, of in sets.items()}
    assert found == {
        None: ("resnet152.tv_in1k", 2048, 512, 448, 10),  # resize: decided
        "vgg": ("vgg19.tv_in1k", 4096, 256, 224, 10),  # decided
        "resnet50": ("resnet50.tv_in1k", 2048, 256, 224, 1),  # Lessons: 2048-d, average pooled; crop decided
    }
    assert all(of.weights == "timm" for of in sets.values())
    decided = {"tokens": 8_000_000, "casing": "lowercase", "seed": 0, "subword_buckets": 200_000}
    assert paper.words.as_values() == {"vectors": "file", "dimension": 300, **decided}
    assert paper.muse == "file"
    assert paper.bert.model == "google-bert/bert-base-multilingual-cased"  # MULE: 12 layers, 110M
    assert (paper.bert.layer, paper.bert.max_tokens) == (-2, 25)  # defaults of bert-as-service


def test_data_sets_of_the_papers(paper: Configuration) -> None:
    """MULE, "Datasets" and Supp., "Minibatch Construction"."""
    multi30k, mscoco = paper.datasets["multi30k"], paper.datasets["mscoco"]
    assert {name: data.languages for name, data in paper.datasets.items()} == LANGUAGES
    assert (multi30k.split, multi30k.groups, multi30k.caption_origins) == ("multi30k", [], {})
    assert mscoco.split_seed == 0  # decided
    assert mscoco.sample_size == 1000  # "1K images for the testing and validation sets"
    assert mscoco.groups == [["en"], ["en", "ja"], ["en", "zh"]]  # "three groups"
    assert mscoco.caption_origins == {}
    assert (multi30k.max_caption_length, mscoco.max_caption_length) == (40, 60)  # authors' code


@pytest.mark.parametrize("name", sorted(set(PARTS) - MONOLINGUAL))
def test_groups_belong_to_the_setting_with_human_captions(paper: Configuration, name: str) -> None:
    groups = [["en"], ["en", "ja"], ["en", "zh"]] if CAPTIONS.get(name, "human") == "human" else []
    assert settings_of(paper, name, "mscoco").groups == groups


# --- Tables


def named_by(row: Row) -> dict[str, object]:
    """What a row of MULE's tables says about its model, read from the words that the paper prints."""
    method, group, data = row.method, row.group or "", row.training_data or ""
    full, words = "Full" in method, method.replace("+", " ").replace("(", " ").split()
    translated = row.queries == "translated"
    captions = "human"
    if "Trans Only" in method or "Machine Translations Only" in data:
        captions = "mt"
    elif "Augmentation" in group or "+ Machine Translations" in data:
        captions = "human+mt"
    return {
        "parts": {NC, LC, LP} if full else {part for code, part in SHORT.items() if code in words},
        "branches": "separate" if "PARALLEL" in method else "shared",
        "vectors": {"MUSE": "muse", "ML BERT": "bert"}.get(group, "fasttext"),
        "captions": captions,
        "monolingual": row.single_model == "N" or translated,
    }


SHORT = {"NC": NC, "LC": LC, "LP": LP}
MULE_TABLES = [f"table{number}" for number in (2, 3, 4, 6, 7, 8, 9, 10, 11)]


@pytest.mark.parametrize("table", MULE_TABLES)
def test_a_row_shows_the_experiment_that_its_words_describe(paper: Configuration, table: str) -> None:
    for row in paper.tables[table].rows:
        name = row.experiment.removesuffix("-en")
        made = paper.experiments[name]
        found = {
            "parts": {part for part in SHORT.values() if getattr(made, part)},
            "branches": made.branches,
            "vectors": made.vectors or "fasttext",
            "captions": made.captions,
            "monolingual": name in MONOLINGUAL,
        }
        assert found == named_by(row), row
        assert made.features is None
        assert not made.settings.model_fields_set or name in SET_OTHERWISE


SET_OTHERWISE = {
    "muse-embn", "bert-embn", "bert-parallel-embn", "parallel-embn-human+mt", "mule-full-mt",
    "mule-full-human+mt",
}  # fmt: skip


@pytest.mark.parametrize("table", MULE_TABLES)
def test_queries_are_translated_where_the_paper_says_so(paper: Configuration, table: str) -> None:
    """MULE, "Leveraging Machine Translations": "an English EmbN model" answers translated queries."""
    for row in paper.tables[table].rows:
        asked = "English Model" in row.method or "Machine Translated Query" in row.method
        assert (row.queries == "translated") == asked
        assert (row.experiment == "embn-en") == asked


def test_rows_of_earlier_systems(paper: Configuration) -> None:
    """MULE, Table 5; Lessons, Tables 2 and 3."""
    found = {
        name: [(row.method, row.experiment) for row in paper.tables[name].rows]
        for name in ("table5", "lessons/table2", "lessons/table3")
    }
    lessons = [
        ("VSE", "vse"),
        ("Pivot-Sym", "pivot-sym"),
        ("Parallel-Sym", "parallel-sym"),
        ("OE", "order"),
        ("Pivot-Asym", "pivot-asym"),
        ("Parallel-Asym", "parallel-asym"),
        ("Monolingual", "monolingual"),
        ("Bilingual", "bilingual"),
        ("+ c2c", "bilingual-c2c"),
        ("Monolingual", "monolingual-as-code"),
        ("+ c2c", "bilingual-c2c-as-code"),
    ]
    assert found == {
        "table5": [
            ("VSE", "vse"),
            ("Order Embeddings", "order"),
            ("PARALLEL-SYM", "parallel-sym"),
            ("PARALLEL-ASYM", "parallel-asym"),
            ("EmbN (our implementation)", "embn-vgg"),
            ("EmbN", "embn"),
            ("PARALLEL-EmbN (2 Lang)", "parallel-embn-2"),
            ("PARALLEL-EmbN", "parallel-embn"),
        ],
        "lessons/table2": lessons,
        "lessons/table3": lessons,
    }


# Sections of rows of *Lessons* that follow the published code, for which the paper prints nothing.
OF_THE_CODE = ("as published code", "alone")

COLUMNS = {
    "table2": {"multi30k": ["en", "de", "fr", "cs"]},
    "table3": {"mscoco": ["en", "zh", "ja"]},
    "table4": {"multi30k": ["en", "de", "fr", "cs"], "mscoco": ["en", "zh", "ja"]},
    "table5": {"multi30k": ["en", "de"]},
    "table6": {"multi30k": ["de"]},
    "table7": {"multi30k": ["fr"]},
    "table8": {"multi30k": ["cs"]},
    "table9": {"mscoco": ["zh"]},
    "table10": {"mscoco": ["ja"]},
    "table11": {"multi30k": ["en"], "mscoco": ["en"]},
    "lessons/table2": {"multi30k": ["en"]},
    "lessons/table3": {"multi30k": ["de"]},
    "lessons/table4": {"multi30k": ["en", "de"]},
    "lessons/table5": {"multi30k": ["en", "de"]},
    "lessons/table6": {"multi30k": ["en", "de", "fr", "cs"]},
    "lessons/table7": {"multi30k": ["fr", "cs"]},
}


def test_tables_have_the_papers_columns(paper: Configuration) -> None:
    found = {name: table.columns for name, table in paper.tables.items()}
    for drawn in ("smalr/figure1b", "smalr/figure3"):
        del found[drawn]  # test_smalr_facts.py
    assert found.pop("lessons/figure3") == {"multi30k": ["en", "de"]}  # which prints no numbers
    assert found.pop("equal-steps") == {
        "multi30k": ["fr", "cs"],
        "mscoco": ["zh", "ja"],
    }  # is not the paper's
    assert {name: columns for name, columns in found.items() if "smalr" not in name} == COLUMNS


@pytest.mark.parametrize("table", COLUMNS)
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
