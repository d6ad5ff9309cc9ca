"""The environments name the locked versions."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def locked_versions() -> dict[str, str]:
    """Version of each package on the oldest supported Python."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    found = [re.match(r"([\w.-]+)==([^ ;]+)", line) for line in lines if "python_full_version >=" not in line]
    return {match[1]: match[2] for match in found if match}


def wanted_packages(file: str) -> set[str]:
    lines = (ROOT / file).read_text().splitlines()
    return {match[0] for line in lines if (match := re.match(r"[A-Za-z][\w.-]*", line))}


def test_every_required_package_is_locked() -> None:
    wanted = wanted_packages("requirements.in") | wanted_packages("requirements-dev.in")
    assert wanted <= set(locked_versions())


def test_conda_environments_are_in_step_with_the_lock() -> None:
    for path in (ROOT / "envs").glob("*.yaml"):
        (pip,) = [
            part["pip"] for part in yaml.safe_load(path.read_text())["dependencies"] if isinstance(part, dict)
        ]
        pins = dict(pin.split("==") for pin in pip)
        assert pins == {name: locked_versions()[name] for name in pins}, path
        assert set(pins) == {
            name for name in wanted_packages("requirements.in") if not name.startswith("snakemake")
        }, path
