"""Parameters of models and of the papers' comparisons, counted by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.models.embedding import Sizes
from pipeline.models.losses.loss import add_layers
from pipeline.models.model import RetrievalModel
from pipeline.models.settings import ClassifierWeight, Liwe, Masking, Model, ModelSettings
from pipeline.models.sizes import at_test_time
from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.reading import load
from pipeline.settings.stages import train_settings
from pipeline.tables.parameters import write_parameters
from pipeline.tables.smalr_parameters import count_smalr_parameters
from pipeline.tables.tabulate import COMPARISON_COLUMNS
from pipeline.training.settings import SmalrParameterSettings, TrainSettings
from pipeline.words.make import spellings
from pipeline.words.vocabulary import vocabulary, write_vocabulary

CONFIG = Path(__file__).parents[2] / "config"
TEN = ("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru")


def of(name: str) -> TrainSettings:
    return train_settings(load({"scale": "paper"}), "multi30k", name, 0)


def small(
    *languages: str, classifier: ClassifierWeight | None = None, masking: Masking | None = None
) -> ModelSettings:
    model = Model(
        universal_dim=5, multimodal_dim=4, recurrent="gru", recurrent_init="pytorch", hidden_size=3,
        image_hidden_size=6,
    )  # fmt: skip
    return ModelSettings(languages=list(languages), model=model, classifier=classifier, masking=masking)


# EmbN of 10 words, with word vectors and image features of 2 and 7 numbers, worked out by hand.
OWN = 10 * 2 + (2 * 5 + 5)  # a language's table and linear layer
SENTENCES = 3 * (5 * 3 + 3 * 3 + 2 * 3) + 3 * 4 + 4
IMAGES = (7 * 6 + 6) + 2 * 6 + (6 * 4 + 4)


@pytest.mark.parametrize(
    ("settings", "whole"),
    [
        (small("en"), OWN),
        (small("en", "de"), 2 * OWN),
        (small("en", "de", classifier=ClassifierWeight()), 2 * OWN + (5 * 2 + 2)),
        # One layer for pairs of universal embeddings (5 numbers), one for multimodal embeddings (4).
        (small("en", "de", masking=Masking()), 2 * OWN + (10 * 10 + 10) + (8 * 8 + 8)),
    ],
)
def test_parameters_of_a_model_are_those_worked_out_by_hand(settings: ModelSettings, whole: int) -> None:
    sizes = Sizes(dict.fromkeys(settings.languages, 11), 2, 7)
    model = RetrievalModel(settings, sizes)
    add_layers(model, settings)
    counts = model.count()
    assert sum(counts.values()) == whole + SENTENCES + IMAGES
    assert sum(at_test_time(counts).values()) == SENTENCES + IMAGES


def test_a_model_that_reads_characters_needs_all_of_itself_at_test_time() -> None:
    """Two characters besides padding; a layer with its lengths and batch norm; a GRU in both directions."""
    liwe = Liwe(character_dim=2, max_word_length=2, layers=[5])
    settings = ModelSettings(languages=["en", "de"], model=Model(encoder="liwe", hidden_size=3), liwe=liwe)
    counts = RetrievalModel(settings, Sizes({"en": 2, "de": 2}, 2, 7, shared=3)).count()
    words, recurrent = 2 * 2 + (4 * 5 + 5 + 5) + 2 * 5, 2 * 3 * (5 * 3 + 3 * 3 + 2 * 3)
    assert sum(counts.values()) == sum(at_test_time(counts).values()) == words + recurrent + 7 * 3 + 3


# --- MULE's comparison


@pytest.fixture
def tables(tmp_path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    settings = stage_settings.parameter_settings()
    papers = CONFIG / "papers" / "parameters.csv"
    write_parameters(settings, papers, tmp_path / "table.csv", tmp_path / "comparison.csv")
    return pd.read_csv(tmp_path / "table.csv"), pd.read_csv(tmp_path / "comparison.csv")


def test_mules_comparison_is_worked_out_by_hand(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table, comparison = tables
    branch = 4 * 1024 * (512 + 1024 + 2) + 1024 * 512 + 512  # LSTM with two biases, linear layer
    layer = 300 * 512 + 512
    # Multilingual BERT: 119,547 word pieces, 512 places and 2 segments; a layer has 12 x 768 squared weights,
    # 9 x 768 biases and 4 x 768 of its two norms; norm of the embeddings; pooler.
    bert = (119_547 + 512 + 2 + 2) * 768 + 12 * (12 * 768**2 + 13 * 768) + 768**2 + 768
    assert table["parameters"].tolist() == [branch, 4 * branch, layer, branch + 4 * layer, bert]
    assert table["paper"].tolist() == ["6.8M", "27.2M", "1.7M", "13.6M", "110M"]
    assert comparison.columns.tolist() == COMPARISON_COLUMNS
    assert comparison["paper"].tolist() == [6.8, 27.2, 1.7, 13.6, 110]
    assert comparison["measured"].tolist() == [6.82, 27.3, 0.15, 7.44, 177.85]


# --- SMALR's comparison


@pytest.fixture
def papers_settings() -> SmalrParameterSettings:
    """What the counts at the demo depend on: the paper's sizes."""
    demo = reading.load({"scale": "demo"})
    return stage_settings.ten_language_settings(demo, "multi30k")


@pytest.fixture
def table(papers_settings: SmalrParameterSettings, tmp_path: Path) -> pd.DataFrame:
    """Ten vocabularies of 10, 20, ..., 100 words."""
    return comparison(papers_settings, list(TEN), tmp_path)


def comparison(settings: SmalrParameterSettings, languages: list[str], tmp_path: Path) -> pd.DataFrame:
    words, spelled = [], []
    for number, code in enumerate(languages, 1):
        names = [f"{code}{n:03d}" for n in range(10 * number)]
        words.append(tmp_path / f"{code}.h5")
        write_vocabulary(vocabulary(code, names, dict.fromkeys(names, np.ones(2))), {}, words[-1])
        spelled.append(tmp_path / f"{code}-spelled.h5")
        write_vocabulary(vocabulary(code, names, spellings(names, set("".join(names)), 26)), {}, spelled[-1])
    papers = CONFIG / "papers" / "smalr" / "parameters.csv"
    output = tmp_path / "table.csv", tmp_path / "lines.csv"
    count_smalr_parameters(settings, words, spelled, papers, *output)
    return pd.read_csv(tmp_path / "table.csv").set_index("model")


def test_ten_languages_are_worked_out_by_hand(table: pd.DataFrame) -> None:
    tables, layer = sum(10 * n for n in range(1, 11)) * 300, 300 * 512 + 512
    branch = 4 * 1024 * (512 + 1024 + 2) + 1024 * 512 + 512
    images = 2048 * 2048 + 2048 + 2 * 2048 + 2048 * 512 + 512
    ten = tables + 10 * layer + branch + images + (512 * 10 + 10)
    one = 10 * 300 + layer + branch + images
    values = table["value"]
    assert values["MULE, one language"] == round(one / 1e6, 2)
    assert values["MULE, ten languages"] == round(ten / 1e6, 2)
    assert values["MULE, ten languages: word tables"] == round(tables / 1e6, 2)
    assert values["MULE, ten languages: share of the languages"] == round(
        100 * (tables + 10 * layer) / ten, 2
    )
    assert values["MULE, ten languages to one"] == round(ten / one, 2)
    assert values["MULE, ten languages: at test time"] == round((branch + images) / 1e6, 2)
    letters = len(set("".join(TEN) + "0123456789"))
    for name, size in (("S-LIWE", 24), ("L-LIWE", 120)):
        layers = sum(a * b + 4 * b for a, b in ((26 * size, 384), (384, 448), (448, 300)))
        recurrent = 2 * 3 * 1024 * (300 + 1024 + 2)
        whole = (letters + 1) * size + layers + recurrent + 2048 * 1024 + 1024
        assert values[f"{name}, ten languages"] == round(whole / 1e6, 2)
    assert table["paper"]["Image-sentence model at test time"] == "7.1M"


def test_hybrid_models_are_those_worked_out_by_hand(table: pd.DataFrame) -> None:
    """550 words: all are latent in LA, and with 5,000 frequent words per language none is."""
    gru, images = 3 * (2 * 512 * 512 + 2 * 512) + 512 * 512 + 512, 2048 * 2048 + 3 * 2048 + 2048 * 512 + 512
    classifier, masking = 512 * 10 + 10, 2 * (1024 * 1024 + 1024)
    own = 550 * 50 + 10 * (50 * 512 + 512)
    values = table["value"]
    without = {
        "LA": gru + images + classifier,
        "HEM": own + gru + images + classifier,
        "SMALR": own + gru + images + classifier + masking + 512,
    }
    for name, expected in without.items():
        assert values[f"{name}, ten languages: without entries"] == round(expected / 1e6, 2)
    assert values["LA, ten languages"] == round((without["LA"] + 550 * 512) / 1e6, 2)
    assert values["SMALR, ten languages"] == values["SMALR, ten languages: without entries"]
    tables, layer = 550 * 300, 300 * 512 + 512
    lstm = 4 * 1024 * (512 + 1024 + 2) + 1024 * 512 + 512
    mule = tables + 10 * layer + lstm + images + classifier
    assert values["MULE to LA, ten languages"] == round(mule / (without["LA"] + 550 * 512), 2)
    for name in ("HEM", "SMALR"):
        assert values[f"MULE to {name}, ten languages"] == round(mule / without[name], 2)
    fifth = (mule / 5 - without["SMALR"]) // 512
    assert values["SMALR: entries that make a fifth of MULE's parameters"] == fifth
    room = (20_000_000 - without["SMALR"]) // 512
    assert values["SMALR: entries that make 20 million parameters"] == room
    assert values["CLC-C"] == 352
    assert values["Image-sentence model at test time"] == 7.09


def test_six_languages_are_not_called_ten(papers_settings: SmalrParameterSettings, tmp_path: Path) -> None:
    found = comparison(papers_settings, list(TEN[:6]), tmp_path)
    assert not found.index.str.contains(r"\bten\b").any()
    assert found.loc["MULE, 6 languages", "counted"].startswith("6 tables and linear layers")
    assert found.loc["MULE, 6 languages to one", "paper"] != found.loc["MULE, 6 languages to one", "paper"]
