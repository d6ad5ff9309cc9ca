"""Two systems compared over seeds and images: by hand, and what is refused."""

import json
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


def without_finds_of_images(paths: list[Path]) -> None:
    """No image finds its sentences: recalls from images are 0, and mR is half of what it was."""
    for path in paths:
        content = json.loads(path.read_text())
        for values in content["test"].values():
            values |= {f"i2s_R@{k}": 0.0 for k in (1, 5, 10)} | {"mR": values["mR"] / 2}
        path.write_text(json.dumps(content))
        ranks = pd.read_csv(path.with_name(content["ranks"]))
        ranks["rank"] = ranks["rank"].where(ranks["direction"] == "s2i", 11)
        ranks.to_csv(path.with_name(content["ranks"]), index=False)


def test_all_numbers_are_of_the_metric_that_is_asked_for(tmp_path: Path) -> None:
    paths = write_evaluations(tmp_path, RECALLS)
    without_finds_of_images(paths)
    sentences, images, mean = (
        compared(tmp_path, paths[:2], paths[2:4], metric).loc["fr"] for metric in ("s2i_R@5", "i2s_R@5", "mR")
    )
    numbers = ["first", "second", "difference"]
    assert sentences[numbers].tolist() == [65, 30, 35]
    assert mean[numbers].tolist() == [32.5, 15, 17.5]
    assert sentences[["low", "high"]].tolist() == pytest.approx([2 * mean["low"], 2 * mean["high"]], abs=1e-5)
    assert images[[*numbers, "low", "high", "p"]].tolist() == [0, 0, 0, 0, 0, 1]


def test_p_is_corrected_for_the_number_of_languages(tmp_path: Path) -> None:
    """English is as good in both: its p is 1."""
    recalls: dict[Key, dict[str, float]] = {
        ("pictures", "first", "own", 0): {"en": 50, "fr": 80},
        ("pictures", "second", "own", 0): {"en": 50, "fr": 40},
    }
    paths = write_evaluations(tmp_path, recalls)
    found = compared(tmp_path, paths[:1], paths[1:])
    assert found["p"]["en"] == found["p_holm"]["en"] == 1
    assert found["p"]["fr"] < 0.1
    assert found["p_holm"]["fr"] == pytest.approx(2 * found["p"]["fr"], abs=2e-6)


def test_the_seeds_of_two_systems_are_drawn_apart(tmp_path: Path) -> None:
    """French: one draw in 16 has 60 against 40, one 70 against 20. Drawn together, no more than 30 and 40."""
    paths = write_evaluations(tmp_path, RECALLS, images=400)
    french = compared(tmp_path, paths[:2], paths[2:4]).loc["fr"]
    assert (french["low"], french["high"]) == pytest.approx((20, 50), abs=2)


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
