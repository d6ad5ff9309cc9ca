"""The finished project that the tests of this folder spoil copies of."""

import os
from pathlib import Path

import base
import pytest


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("BAD_INPUTS_BASE"):  # made before, while the table is written
        return Path(given)
    return base.made(tmp_path_factory.mktemp("finished") / "project")
