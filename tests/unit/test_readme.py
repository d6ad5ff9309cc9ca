"""The README stays short, and what it and the other front pages say about the project is true."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_can_be_read_in_five_minutes() -> None:
    assert len(README.splitlines()) <= 90
    assert len(README.split()) <= 850


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "config/README.md"])
def test_no_commit_date_or_machine_is_named(page: str) -> None:
    """A measured number cites a run of docs/runs.md, where all of these are."""
    text = (ROOT / page).read_text(encoding="utf-8")
    words = re.findall(r"\b[0-9a-f]{7,40}\b", text)
    commits = [word for word in words if not word.isalpha() and not word.isdigit()]
    assert not commits + re.findall(r"\b20\d\d-\d\d-\d\d\b|Intel|AMD|Xeon|EPYC", text)


def test_the_results_of_the_readme_are_filled_from_a_run() -> None:
    """`make results-pages` fills them, and a test of these pages compares them with the run."""
    assert re.search(r"^<!-- gain [^\n]+ -->$", README, re.M)


def test_make_targets_in_the_readme_exist() -> None:
    named = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"demo", "search", "test"} <= named
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert named <= set(targets)


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest and citation["version"] == newest[1] == version
