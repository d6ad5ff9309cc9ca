"""What the rules declare: resources of jobs that a cluster's queue may get, threads, logs."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "workflow" / "rules"


def rules() -> dict[str, str]:
    """The text of every rule by its name; snakefmt has brought them into one form."""
    found = {}
    for path in RULES.glob("*.smk"):
        for text in re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            found[text[: text.index(":")]] = text
    return found


def queue_of_rules() -> dict[str, str]:
    """Rules whose jobs are submitted: they run something, and not where Snakemake was started."""
    return {
        name: text for name, text in rules().items() if "    shell:" in text and "localrule: True" not in text
    }


@pytest.mark.parametrize("name", ["generic", "slurm"])
def test_the_profile_of_a_queue_has_the_resources_of_rules_that_declare_none(name: str) -> None:
    profile = yaml.safe_load((ROOT / "profiles" / name / "profile.yaml").read_text(encoding="utf-8"))
    assert {"mem_mb": 4000, "runtime": 60}.items() <= profile["default-resources"].items()


def test_long_jobs_get_more_time_when_tried_again() -> None:
    """All that train or embed on a GPU; translations begin with as much time as they may need."""
    asking = {name: text for name, text in queue_of_rules().items() if "gpu=SETTINGS.gpu" in text}
    asking.pop("check_node")  # which takes a minute
    assert {"train", "train_lessons", "assign", "pretrain_bert", "extract_features"} <= set(asking)
    assert not [name for name, text in asking.items() if "runtime=growing(" not in text]


def test_no_stage_gets_as_many_threads_as_happen_to_be_free() -> None:
    """With `--cores 1` a job has fewer than it declares, and would round sums differently."""
    assert not [name for name, text in rules().items() if "{threads}" in text]


def test_every_stage_writes_its_log() -> None:
    """Snakemake compiles a rule's command as it is written: the loop of the Snakefile cannot add to it."""
    text = "".join(path.read_text(encoding="utf-8") for path in RULES.glob("*.smk"))
    assert text.count("> {log:q} 2>&1") == text.count("python -m pipeline ") > 40
