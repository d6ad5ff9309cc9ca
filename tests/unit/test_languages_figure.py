"""*Lessons*, Figure 3: bars of the right height, in the right panel, from hand-written numbers."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest

from pipeline.common.errors import InputError
from pipeline.report.languages_figure import draw_languages

SVG = "{http://www.w3.org/2000/svg}"
VALUES = {"Monolingual": 20.0, "Bilingual": 30.0, "Multilingual & more": 45.0}


def comparison(folder: Path) -> Path:
    """German is 5 below English, image to text 10 above text to image.

    Other recalls, and rows that follow the published code, must not be drawn.
    """
    rows = [
        {
            "section": section,
            "method": method,
            "language": language,
            "metric": metric,
            "measured": (measured := value - 5 * (language == "de") + 10 * (metric == "i2s_R@10") - less),
            "low": measured - 2,
            "high": measured + 3,
            "scale": "flickr8k",
            "seeds": 3,
        }
        for section, less in (("", 0), ("as published code", 7))
        for method, value in VALUES.items()
        for language in ("en", "de")
        for metric in ("mR", "i2s_R@1", "i2s_R@10", "s2i_R@10")
    ]
    pd.DataFrame(rows).to_csv(folder / "figure3.csv", index=False)
    return folder / "figure3.csv"


def test_each_bar_is_as_high_as_its_number(tmp_path: Path) -> None:
    draw_languages(comparison(tmp_path), tmp_path / "figure3.svg")
    root = ET.fromstring((tmp_path / "figure3.svg").read_text())
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    found = []
    for bar in bars:
        title = re.fullmatch(r"(.+), (\w+): (\S+) \((\S+) to (\S+)\)", str(bar.findtext(f"{SVG}title")))
        assert title
        found.append((float(bar.attrib["x"]), title[1], title[2], *map(float, title.groups()[2:])))
        assert float(bar.attrib["height"]) / float(title[3]) == pytest.approx(
            162 / 60, abs=0.01
        )  # axis to 60
    expected = [
        (method, language, number, number - 2, number + 3)
        for way in (0, 10)
        for language, less in (("English", 0), ("German", 5))
        for method, value in VALUES.items()
        if (number := value - less + way)
    ]
    assert [one[1:] for one in sorted(found)] == expected
    text = " ".join(root.itertext())
    assert "R@10 in percent, scale flickr8k, 3 seeds" in text
    assert text.index("text to image") < text.index("image to text")


def test_a_missing_comparison_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the comparison is not there"):
        draw_languages(tmp_path / "none.csv", tmp_path / "figure3.svg")
