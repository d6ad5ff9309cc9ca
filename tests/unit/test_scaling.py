"""SMALR's Figures 1b and 3: points counted on small trained models, and the drawing of them."""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from evaluations import write_evaluations
from small import record, saved_settings

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.common.files import sha256
from pipeline.models.embedding import Sizes
from pipeline.models.model import RetrievalModel, save_model
from pipeline.models.settings import ClassifierWeight, Liwe, Masking, Model, ModelSettings
from pipeline.report.scatter import draw_scaling, radius
from pipeline.tables.scaling import measure_scaling
from pipeline.tables.settings import Point, ScalingSettings

CONFIG = Path(__file__).parents[2] / "config"
MODEL = Model(
    universal_dim=5, multimodal_dim=4, recurrent="gru", recurrent_init="pytorch", hidden_size=3,
    image_hidden_size=6, dropout=0.0,
)  # fmt: skip
FEATURES = 7

# EmbN of one language, 10 words, vectors of 2: table, linear layer, GRU and its layer, images.
TABLE = 10 * 2
UNIVERSAL = 2 * 5 + 5
BRANCH = 3 * (5 * 3 + 3 * 3 + 2 * 3) + 3 * 4 + 4
IMAGES = (7 * 6 + 6) + 2 * 6 + (6 * 4 + 4)


def save_small_model(
    folder: Path, name: str, languages: list[str], classifier: bool = False, words: int = 10
) -> Path:
    """A trained model and its evaluation: in each language half of four images are found first.

    The name says whether it is LIWE or has masking.
    """
    folder = folder / name
    folder.mkdir()
    of_model = ModelSettings(
        languages=languages,
        model=MODEL,
        classifier=ClassifierWeight() if classifier else None,
        masking=Masking() if name == "masked" else None,
    )
    sizes = Sizes(dict.fromkeys(languages, words + 1), 2, FEATURES)
    if name.startswith("liwe"):
        liwe = Liwe(character_dim=2, max_word_length=2, layers=[5])
        encoder = Model(encoder="liwe", hidden_size=3)
        of_model = ModelSettings(languages=languages, model=encoder, liwe=liwe)
        sizes = Sizes(dict.fromkeys(languages, 2), 2, FEATURES, shared=3)
    settings = saved_settings(of_model, experiment=name)
    save_model(folder / "model.pt", RetrievalModel(of_model, sizes), record(settings))
    recall = dict.fromkeys([f"{way}_R@{k}" for way in ("i2s", "s2i") for k in (1, 5, 10)], 50.0)
    test = {code: {**recall, "mR": 50.0, "images": 4, "sentences": 4} for code in languages}
    told: dict[str, Any] = {
        "dataset": "multi30k",
        "experiment": name,
        "queries": "original",
        "seed": 0,
        "settings": settings.as_values(),
        "ranks": "ranks.csv.gz",
        "training_steps": 1,
        "training_groups": [1],
        "test": test,
    }
    rows = [
        (code, way, str(image), 1 if image % 2 else 99)
        for code in languages for way in ("i2s", "s2i") for image in range(4)
    ]  # fmt: skip
    pd.DataFrame(rows, columns=["language", "direction", "image", "rank"]).to_csv(
        folder / "ranks.csv.gz", index=False
    )
    told["ranks_sha256"] = sha256(folder / "ranks.csv.gz")
    (folder / "test-original.json").write_text(json.dumps(told))
    return folder


def point(series: str, experiments: list[str], trained: int, label: str = "") -> Point:
    return Point(
        dataset="multi30k",
        series=series,
        label=label,
        languages=["en", "de"],
        experiments=experiments,
        trained=trained,
    )


def settings(*points: Point, across: Any = "parameters", area: Any = "") -> ScalingSettings:
    return ScalingSettings(scale="demo", seeds=[0], figure="3", across=across, area=area, points=list(points))


def make_table(
    folder: Path, chosen: ScalingSettings, names: dict[str, list[str]], classifier: bool = False
) -> pd.DataFrame:
    folders = [save_small_model(folder, name, languages, classifier) for name, languages in names.items()]
    evaluations, models = ([one / file for one in folders] for file in ("test-original.json", "model.pt"))
    measure_scaling(chosen, evaluations, models, folder / "points.csv")
    return pd.read_csv(folder / "points.csv", keep_default_na=False)


def test_parameters_are_those_of_the_trained_models(tmp_path: Path) -> None:
    chosen = settings(point("MULE", ["embn-en", "embn-de"], 1), point("MULE", ["mule"], 2))
    found = make_table(tmp_path, chosen, {"embn-en": ["en"], "embn-de": ["de"], "mule": ["en", "de"]})
    assert list(found["parameters"]) == [
        TABLE + UNIVERSAL + BRANCH + IMAGES, 2 * (TABLE + UNIVERSAL) + BRANCH + IMAGES,
    ]  # fmt: skip
    assert list(found["parameters_at_test"]) == [BRANCH + IMAGES] * 2
    assert list(found["mR"]) == [50.0, 50.0] and list(found["languages"]) == [1, 2]
    assert (found["low"] < 50).all() and (found["high"] > 50).all()


def test_a_point_of_several_models_is_the_mean_over_models_and_seeds(tmp_path: Path) -> None:
    """20 and 40 in English, 60 and 80 in German: 50. The mean of 5, 15, 25 and 35 words is 20.

    Of twenty images four each are found in 1, 3/4, 1/2, 1/4 and none of the seeds and languages.
    """
    mr = {"en": (20.0, 40.0), "de": (60.0, 80.0)}
    test = {
        ("multi30k", f"embn-{code}", "original", seed): {code: value}
        for code, values in mr.items()
        for seed, value in enumerate(values)
    }
    folders = [tmp_path / f"seed{seed}" for seed in (0, 1)]
    for folder in folders:
        folder.mkdir()
    models = [
        save_small_model(folder, f"embn-{code}", [code], words=count) / "model.pt"
        for code, words in (("en", (5, 15)), ("de", (25, 35)))
        for folder, count in zip(folders, words, strict=True)
    ]
    chosen = settings(point("MULE", ["embn-en", "embn-de"], 1)).model_copy(update={"seeds": [0, 1]})
    measure_scaling(chosen, write_evaluations(tmp_path, test), models, tmp_path / "points.csv")
    found = pd.read_csv(tmp_path / "points.csv").iloc[0]
    assert (found["mR"], found["seeds"], found["averaged"]) == (50.0, 2, "en de")
    printed = pd.read_csv(tmp_path / "points.csv", dtype=str).iloc[0]
    assert [len(printed[end].partition(".")[2]) for end in ("mR", "low", "high")] == [6, 6, 6]
    assert found["parameters"] == 20 * 2 + UNIVERSAL + BRANCH + IMAGES
    error = 100 * ((1 + 9 / 16 + 1 / 4 + 1 / 16) / 5 - 1 / 4) ** 0.5 / 20**0.5
    assert found["low"] == pytest.approx(50 - 1.96 * error, abs=1)
    assert found["high"] == pytest.approx(50 + 1.96 * error, abs=1)


def test_a_classifier_counts_if_a_loss_trained_it(tmp_path: Path) -> None:
    found = make_table(
        tmp_path, settings(point("MULE", ["mule"], 2)), {"mule": ["en", "de"]}, classifier=True
    )
    assert found["parameters"][0] == 2 * (TABLE + UNIVERSAL) + BRANCH + IMAGES + (5 * 2 + 2)


def test_weights_of_a_loss_count_and_are_not_needed_at_test_time(tmp_path: Path) -> None:
    """Masking has one layer for pairs of universal embeddings (5 numbers), one for multimodal ones (4)."""
    found = make_table(tmp_path, settings(point("SMALR", ["masked"], 2)), {"masked": ["en", "de"]})
    masking = (10 * 10 + 10) + (8 * 8 + 8)
    assert found["parameters"][0] == 2 * (TABLE + UNIVERSAL) + BRANCH + IMAGES + masking
    assert found["parameters_at_test"][0] == BRANCH + IMAGES


def test_a_model_that_reads_characters_needs_all_of_itself_at_test_time(tmp_path: Path) -> None:
    found = make_table(tmp_path, settings(point("S-LIWE", ["liwe"], 2)), {"liwe": ["en", "de"]})
    words = (
        2 * 2 + (4 * 5 + 5 + 5) + 2 * 5
    )  # two characters besides padding; a layer with its lengths; batch norm
    recurrent = 2 * 3 * (5 * 3 + 3 * 3 + 2 * 3)
    assert found["parameters"][0] == found["parameters_at_test"][0] == words + recurrent + 7 * 3 + 3


def test_all_that_is_missing_is_reported_together(tmp_path: Path) -> None:
    chosen = settings(point("MULE", ["mule"], 2), point("PCA", ["pca"], 2))
    with pytest.raises(InputError) as error:
        make_table(tmp_path, chosen, {"other": ["en", "de"]})
    assert "multi30k mule 0 original" in str(error.value) and "multi30k pca: no model" in str(error.value)


def draw_figure(
    folder: Path, rows: list[dict[str, Any]], across: str = "parameters", area: str = ""
) -> ElementTree.Element:
    whole = {
        "dataset": "multi30k",
        "label": "",
        "languages": 10,
        "averaged": "en de",
        "low": 40.0,
        "high": 60.0,
        "mR": 50.0,
    }
    pd.DataFrame([{**whole, **row} for row in rows]).to_csv(folder / "points.csv", index=False)
    draw_scaling(settings(across=across, area=area), folder / "points.csv", folder / "figure.svg")
    return ElementTree.parse(folder / "figure.svg").getroot()


def circles(svg: ElementTree.Element) -> list[ElementTree.Element]:
    """The circles of points, which have a title; the key's circles have none."""
    return [one for one in svg.iter("{http://www.w3.org/2000/svg}circle") if len(one)]


def test_a_point_is_at_its_parameters_and_recall(tmp_path: Path) -> None:
    """On an axis from 0 to 20 million, 5 and 20 million are at a quarter and at the end."""
    rows = [
        {"series": "A", "parameters": 5_000_000, "mR": 45.0, "label": "5<"},
        {"series": "B", "parameters": 20_000_000},
    ]
    first, second = circles(draw_figure(tmp_path, rows))
    start = (4 * float(first.get("cx", 0)) - float(second.get("cx", 0))) / 3
    assert start == pytest.approx(44, abs=0.2)
    assert float(first.get("cy", 0)) > float(second.get("cy", 0))  # lower recall, lower on the page
    assert "A 5<: mR 45.0 (40.0 to 60.0), 5,000,000 parameters" in str(first[0].text)


def test_a_points_area_is_its_parameters_in_millions_to_the_power_of_one_and_a_half(tmp_path: Path) -> None:
    rows = [
        {"series": "A", "parameters": 4_000_000, "languages": 1},
        {"series": "A", "parameters": 100_000_000},
    ]
    small, large = (
        float(one.get("r", 0)) for one in circles(draw_figure(tmp_path, rows, "languages", "parameters"))
    )
    assert math.pi * small**2 == pytest.approx(8, abs=0.1)
    assert math.pi * large**2 == pytest.approx(1000, rel=0.01)
    assert radius(10**9, "") == 4.0


def test_there_is_a_panel_per_data_set_and_a_key_per_series(tmp_path: Path) -> None:
    rows = [
        {"series": name, "dataset": data, "parameters": 10**6}
        for data in ("mscoco", "multi30k")
        for name in "AB"
    ]
    svg = draw_figure(tmp_path, rows)
    assert len(circles(svg)) == 4
    assert svg.get("viewBox", "").split()[2] == str(2 * 380)
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("A") == texts.count("B") == 1
    assert "mscoco: mR, mean over 2 languages" in texts


def test_labels_of_near_points_are_at_different_heights(tmp_path: Path) -> None:
    """Those of every other series are below the intervals."""
    rows = [
        {"series": name, "parameters": millions * 10**6, "label": f"{name}{millions}"}
        for name in "AB"
        for millions in (1, 2, 3, 40)
    ]
    texts = list(draw_figure(tmp_path, rows).iter("{http://www.w3.org/2000/svg}text"))
    height = {text.text: float(text.get("y", 0)) for text in texts if str(text.text)[1:].isdigit()}
    assert height["A1"] == height["A3"] == height["A40"] == height["A2"] + 11
    assert height["B1"] == height["B3"] == height["B40"] == height["B2"] - 11
    assert height["B1"] > height["A1"]


def test_points_show_the_experiments_that_the_captions_name() -> None:
    """Figure 1b: MULE and S-LIWE against languages, L-LIWE and SMALR with ten; Figure 3: on all ten."""
    loaded = configuration.load({"scale": "demo"}, CONFIG)
    figure = configuration.figure_settings(loaded, CONFIG, "1b")
    of_multi30k = [p for p in figure.points if p.dataset == "multi30k"]
    trained = {
        name: [p.trained for p in of_multi30k if p.series == name] for name in ("MULE", "S-LIWE", "L-LIWE")
    }
    assert trained == {"MULE": [1, 4, 10], "S-LIWE": [1, 2, 10], "L-LIWE": [10]}
    assert all(p.languages == ["en", "de"] for p in of_multi30k)
    assert [p.trained for p in figure.points if p.dataset == "mscoco" and p.series == "MULE"] == [
        1,
        3,
        10,
    ]
    third = configuration.figure_settings(loaded, CONFIG, "3").points
    assert all(p.trained == 10 and len(p.languages) == 10 for p in third)
