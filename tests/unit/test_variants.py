"""The benchmark that compares settings trains on the files that the experiment itself reads, or refuses."""

from pathlib import Path

import pytest

from benchmarks.variants import _check_files
from pipeline import settings as configuration
from pipeline.common.errors import InputError

CONFIG = Path(__file__).parents[2] / "config"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("muse-embn", "vectors"),
        ("liwe-s-en", "vectors"),
        ("mule-ten-pca-50", "reduction, captions: augmented"),
        ("vse-en", "features"),
    ],
)
def test_experiments_with_other_files_are_refused(name: str, said: str) -> None:
    settings = configuration.load({"scale": "demo"}, CONFIG)
    with pytest.raises(InputError, match=f"{name}: has {said}"):
        _check_files(configuration.experiment_named(settings, "multi30k", name), name)


@pytest.mark.parametrize("name", ["mule-full", "embn-en", "parallel-embn-human+mt"])
def test_others_are_taken(name: str) -> None:
    settings = configuration.load({"scale": "demo"}, CONFIG)
    _check_files(configuration.experiment_named(settings, "multi30k", name), name)
