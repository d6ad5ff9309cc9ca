"""Comparison of two systems over seeds and images: cases by hand, and refusals."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from evaluations import Key, write_evaluations

from pipeline.common.errors import InputError
from pipeline.tables.compare import compare

# By seed, the percentage of images with rank 1; all recalls of a language are equal.
RECALLS: dict[Key, dict[str, float]] = {
    ("pictures", "shared", "original", 0): {"en": 50, "fr": 60},
    ("pictures", "shared", "original", 1): {"en": 60, "fr": 70},
    ("pictures", "alone-fr", "original", 0): {"fr": 20},
    ("pictures", "alone-fr", "original", 1): {"fr": 40},
    ("pictures", "alone-de", "original", 0): {"de": 40},
    ("pictures", "alone-de", "original", 1): {"de": 40},
}


def comparison(folder: Path, first: list[Path], second: list[Path], metric: Any = "s2i_R@5") -> pd.DataFrame:
    compare(first, second, folder / "difference.csv", metric)
    return pd.read_csv(folder / "difference.csv").set_index("language")


def test_common_languages_are_compared_by_means_over_seeds(tmp_path: Path) -> None:
    """French: (60 + 70) / 2 - (20 + 40) / 2 = 35."""
    paths = write_evaluations(tmp_path, RECALLS)
    found = comparison(tmp_path, paths[:2], paths[2:])
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
        ranks = pd.read_csv(path.with_name(content["ranks"]))
        ranks["rank"] = ranks["rank"].where(ranks["direction"] == "s2i", 11)
        ranks.to_csv(path.with_name(content["ranks"]), index=False)
        path.write_text(json.dumps(content))


def test_all_numbers_use_the_requested_metric(tmp_path: Path) -> None:
    paths = write_evaluations(tmp_path, RECALLS)
    without_finds_of_images(paths)
    sentences, images, mean = (
        comparison(tmp_path, paths[:2], paths[2:4], metric).loc["fr"]
        for metric in ("s2i_R@5", "i2s_R@5", "mR")
    )
    numbers = ["first", "second", "difference"]
    assert sentences[numbers].tolist() == [65, 30, 35]
    assert mean[numbers].tolist() == [32.5, 15, 17.5]
    assert sentences[["low", "high"]].tolist() == pytest.approx([2 * mean["low"], 2 * mean["high"]], abs=1e-5)
    assert images[[*numbers, "low", "high", "p"]].tolist() == [0, 0, 0, 0, 0, 1]


def test_the_seeds_of_two_systems_are_paired(tmp_path: Path) -> None:
    """French: 60 against 20 and 70 against 40. The differences 40 and 30 have the standard error 5.

    Images add 2.3, so there are 1.5 degrees of freedom instead of 1.
    """
    paths = write_evaluations(tmp_path, RECALLS, images=400)
    french = comparison(tmp_path, paths[:2], paths[2:4]).loc["fr"]
    assert (french["low"] + french["high"]) / 2 == pytest.approx(35)
    assert 4.3 * 5.5 < (french["high"] - french["low"]) / 2 < 12.7 * 5.5


def test_unequal_trainings_are_named(tmp_path: Path) -> None:
    """Seed 1 of the shared model ended early: of 8 and 5 steps in three groups, against 9 in one."""
    sampling = [(8, 3), (5, 3), (9, 1), (9, 1), (9, 1), (9, 1)]
    paths = write_evaluations(tmp_path, RECALLS, sampled=dict(zip(RECALLS, sampling, strict=True)))
    french = comparison(tmp_path, paths[:2], paths[2:4]).loc["fr"]
    assert (french["unequal_steps"], french["unequal_groups"]) == ("5 to 8 against 9", "3 against 1")


def test_systems_without_a_common_language_are_refused_and_nothing_written(tmp_path: Path) -> None:
    paths = write_evaluations(tmp_path, {**RECALLS, ("drawings", "shared", "original", 0): {"en": 50}})
    for second in (paths[4:6], paths[6:]):  # German; English of another data set
        with pytest.raises(InputError, match="no language of a data set in common"):
            comparison(tmp_path, paths[:2], second)
    with pytest.raises(InputError, match=r"shared original and .* alone-fr original: two models of 'fr'"):
        comparison(tmp_path, paths[:4], paths[4:6])
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match="the same experiment and seed"):  # of another run
        comparison(tmp_path, paths[:2], write_evaluations(tmp_path / "run", RECALLS)[:2])
    assert not (tmp_path / "difference.csv").exists()


def test_a_model_that_stops_on_a_language_is_compared_only_in_it(tmp_path: Path) -> None:
    recalls: dict[Key, dict[str, float]] = {
        ("pictures", "joint-en", "original", 0): {"en": 50, "fr": 10},
        ("pictures", "joint-fr", "original", 0): {"en": 20, "fr": 60},
        ("pictures", "alone-en", "original", 0): {"en": 40},
        ("pictures", "alone-fr", "original", 0): {"fr": 20},
    }
    stopping = {key: {"stop_on": [key[1][-2:]]} for key in recalls}
    paths = write_evaluations(tmp_path, recalls, trained_with=stopping)
    assert comparison(tmp_path, paths[:2], paths[2:])["difference"].to_dict() == {"en": 10.0, "fr": 40.0}
