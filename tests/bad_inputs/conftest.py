"""The finished project that the tests of this folder spoil copies of."""

from pathlib import Path

import base
import pytest


@pytest.fixture(scope="session")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base.finished_project(tmp_path_factory.mktemp("finished") / "project")
