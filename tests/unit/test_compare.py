"""Two systems compared over seeds and images: by hand, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest
from evaluated import Key, write_evaluations

from pipeline.errors import InputError
from pipeline.tables.compare import compare

# By seed the percentage of images found at once; all recalls of a language are equal.
RECALLS: dict[Key, dict[str, float]] = {
    ("pictures", "shared", "own", 0): {"en": 50, "fr": 60},
    ("pictures", "shared", "own", 1): {"en": 60, "fr": 70},
    ("pictures", "alone-fr", "own", 0): {"fr": 20},
    ("pictures", "alone-fr", "own", 1): {"fr": 40},
    ("pictures", "alone-de", "own", 0): {"de": 40},
    ("pictures", "alone-de", "own", 1): {"de": 40},
}


def compared(folder: Path, first: list[Path], second: list[Path], metric: str = "s2i_R@5") -> pd.DataFrame:
    compare(first, second, metric, folder / "difference.csv")
    return pd.read_csv(folder / "difference.csv").set_index("language")


def test_the_languages_that_both_have_and_the_means_over_seeds(tmp_path: Path) -> None:
    """French: (60 + 70) / 2 - (20 + 40) / 2 = 35."""
    paths = write_evaluations(tmp_path, RECALLS)
    found = compared(tmp_path, paths[:2], paths[2:])
    assert found.index.tolist() == ["fr"]
    french = found.loc["fr"]
    assert (french["first"], french["second"], french["difference"]) == (65.0, 30.0, 35.0)
    assert french["low"] < 35.0 < french["high"]
    assert french["seeds"] == "0 1"
    assert french["p"] == french["p_holm"]  # one language


def test_the_order_turns_the_sign(tmp_path: Path) -> None:
    paths = write_evaluations(tmp_path, RECALLS)
    assert compared(tmp_path, paths[2:4], paths[:2]).loc["fr", "difference"] == -35.0


def test_what_cannot_be_compared_is_refused_and_nothing_written(tmp_path: Path) -> None:
    paths = write_evaluations(tmp_path, RECALLS)
    with pytest.raises(InputError) as caught:
        compared(tmp_path, paths[:1], paths[4:], "mr")
    for part in (
        "no language in common",
        r"seeds [0] and [0, 1]",
        "--metric: found 'mr', expected one of i2s_R",
    ):
        assert part in str(caught.value)
    both = "'fr': shared and alone-fr of pictures are both given for one system"
    with pytest.raises(InputError, match=both):
        compared(tmp_path, paths[:4], paths[2:4])
    assert not (tmp_path / "difference.csv").exists()
