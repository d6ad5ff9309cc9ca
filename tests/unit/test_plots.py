"""Drawings: what they show, and that their bytes depend on the numbers only."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.report.plots import draw_languages, draw_scaling, intervals

POINT = {
    "section": "", "group": "", "dataset": "multi30k", "language": "A", "metric": "mR", "measured": 50.0,
    "low": 40.0, "high": 60.0, "averaged": "en de", "trained_languages": 10, "scale": "demo", "seeds": 2,
}  # fmt: skip


def drawn(folder: Path, rows: list[dict[str, Any]], draw: Any, *options: str) -> str:
    pd.DataFrame([POINT | row for row in rows]).to_csv(folder / "comparison.csv", index=False)
    texts = []
    for name in ("first.svg", "second.svg"):
        draw(folder / "comparison.csv", *options, folder / name)
        texts.append((folder / name).read_text())
    assert texts[0] == texts[1] and "<dc:date>" not in texts[0]
    return texts[0]


@pytest.mark.parametrize("across", ["parameters", "languages"])
def test_there_is_a_panel_per_data_set_and_a_key_per_series(tmp_path: Path, across: str) -> None:
    rows = [
        {"group": group, "method": method, "dataset": dataset, "parameters": 10**6}
        for dataset in ("mscoco", "multi30k")
        for group, method in (("PCA", "50<"), ("PCA", "100"), ("", "SMALR"))
    ]
    rows.append({"method": "left out", "language": "en", "parameters": 10**6})
    svg = drawn(tmp_path, rows, draw_scaling, across)
    for text in (
        "mscoco: mR, mean over 2 languages",
        "multi30k: mR, mean over 2 languages",
        ">PCA<",
        ">SMALR<",
    ):
        assert svg.count(text) == 1
    assert "left out" not in svg
    assert svg.count(">50&lt;<") == svg.count(">100<") == (2 if across == "parameters" else 0)


def test_lessons_figure_3_has_both_directions_and_languages_without_rows_of_a_section(tmp_path: Path) -> None:
    rows = [
        {"section": section, "method": method, "language": code, "metric": metric}
        for section, method in (("", "Monolingual"), ("", "Bilingual"), ("as published code", "Other"))
        for code in ("en", "de")
        for metric in ("s2i_R@10", "i2s_R@10", "mR")
    ]
    svg = drawn(tmp_path, rows, draw_languages)
    for text in ("text to image", "image to text", ">Monolingual<", ">Bilingual<", "demo, 2 seeds"):
        assert svg.count(text) == 1
    assert svg.count(">English<") == svg.count(">German<") == 2
    assert svg.count('id="LineCollection_') == 4  # intervals of two models in two panels
    assert "Other" not in svg


def test_the_lowest_panel_of_each_column_has_numbers_below_it() -> None:
    numbers = {"place": [0], "measured": [1.0], "low": [0.0], "high": [2.0], "chance": [0], "paper": [None]}
    svg = intervals({str(panel): pd.DataFrame(numbers) for panel in range(7)}, ["row"], "what")
    assert svg.count(">0.0<") == 4  # three below the second row, one below the first
