"""Snakemake understands every key of the profiles."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from snakemake.cli import get_argument_parser

from workflow import command_line

PROFILES = Path(__file__).parents[2] / "profiles"
KUBERNETES = find_spec("snakemake_executor_plugin_kubernetes") is not None


@pytest.fixture(scope="module")
def known_keys() -> set[str]:
    """Options of Snakemake and of the executors that are installed."""
    return {option.removeprefix("--") for option in get_argument_parser()._option_string_actions}


@pytest.mark.parametrize("name", ["default", "slurm", "generic", "kubernetes"])
def test_every_key_of_a_profile_is_an_option_of_snakemake(name: str, known_keys: set[str]) -> None:
    keys = set(yaml.safe_load((PROFILES / name / "profile.yaml").read_text()))
    assert {"rerun-incomplete", "show-failed-logs", "retries", "resources", "benchmark-extended"} <= keys
    assert "max-checksum-file-size" in keys  # docs/architecture.md: a newer but equal file
    if not KUBERNETES:
        keys = {key for key in keys if not key.startswith("kubernetes-")}
    keys -= {"__use_yte__", "__definitions__"}  # Python that is run as the profile is read
    assert keys <= known_keys


def test_only_one_machine_limits_its_gpus() -> None:
    """On a cluster, the queue limits GPUs; a further limit would hold back its jobs."""
    limits = {
        path.parent.name: yaml.safe_load(path.read_text())["resources"]
        for path in PROFILES.glob("*/profile.yaml")
    }
    assert [name for name, limit in limits.items() if "gpu" in limit] == ["default"]
    assert all({"connections", "translations"} <= set(limit) for limit in limits.values())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--configfile none.yaml", r"none\.yaml: .*not there"),
        ("--configfile bad.yaml --cores 2", r"bad\.yaml: not YAML"),
        ("--config seeds=[1] results/table4.csv", "--config takes results/table4.csv for a value of its own"),
        ("--forcerun train results/table4.csv", "--forcerun takes results/table4.csv"),
        ("-R train ./results/table4.csv --cores 2", "--forcerun takes ./results/table4.csv"),
        ("--configfile good.yaml results/table4.csv", "--configfile takes results/table4.csv"),
        ("--config training.epochs=3", "expected KEY=VALUE, such as"),
        ("--config seeds=[1] -n --config gpu=1", "given twice"),
    ],
)
def test_a_mistake_in_a_command_is_one_message(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.yaml").write_text("seeds: [1]\ntraining: {epochs: 3\n")
    (tmp_path / "good.yaml").write_text("seeds: [1]\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        command_line.check(words.split())
    for right in (
        "results/table4.csv --cores 2 --config seeds=[1]",
        "-R train -- results/table4.csv",
        "-R train",
    ):
        command_line.check(right.split())
