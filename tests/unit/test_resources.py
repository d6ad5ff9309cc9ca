"""Every job that a cluster's queue may get says what it needs."""

import re
from pathlib import Path

RULES = Path(__file__).parents[2] / "workflow" / "rules"
STANDARD = {"mem_mb", "runtime", "disk_mb", "gpu"}


def rules() -> dict[str, str]:
    """The text of every rule by its name; snakefmt has brought them into one form."""
    found = {}
    for path in RULES.glob("*.smk"):
        for text in re.split(r"^(?:use rule \w+ as|rule) ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            found[text[: text.index(":")]] = text
    return found


def declared(text: str) -> dict[str, str]:
    """Resources of a rule, as they are written."""
    block = re.search(r"^    resources:.*\n((?:        .*\n)+)", text, re.M)
    return dict(re.findall(r"^        (\w+)=(.*?),(?:  #.*)?$", block[1], re.M)) if block else {}


def queued() -> dict[str, str]:
    """Rules whose jobs are submitted: they run something, and not where Snakemake was started.

    A rule made of another one (`use rule`) runs what that runs, but is not local for that.
    """
    return {
        name: text
        for name, text in rules().items()
        if ("    shell:" in text or name.endswith(" with")) and "localrule: True" not in text
    }


def test_the_rules_are_found() -> None:
    assert {"train", "extract_features", "unpack", "words"} <= set(queued())
    assert {"tabulate", "publish with"} <= set(rules()) - set(queued())


def test_every_submitted_job_declares_memory_time_disk_and_gpu() -> None:
    lacking = {name: STANDARD - set(declared(text)) for name, text in queued().items()}
    assert not {name: missing for name, missing in lacking.items() if missing}


def test_a_job_that_may_run_out_of_memory_gets_more_when_tried_again() -> None:
    fixed = {name for name, text in queued().items() if not declared(text)["mem_mb"].startswith("growing(")}
    # What drawing the demo and unpacking hold does not grow with the data.
    assert not {name for name in fixed if name != "unpack" and not name.startswith("demo")}


def test_a_job_with_a_gpu_is_told_so() -> None:
    asking = {name: text for name, text in queued().items() if declared(text)["gpu"] != "0"}
    assert "train" in asking
    assert all("--gpus {resources.gpu}" in text for text in asking.values())
    assert not any("--gpus" in text for name, text in rules().items() if name not in asking)


def test_no_stage_is_given_as_many_threads_as_happen_to_be_free() -> None:
    """With `--cores 1` a job has fewer than it declares, and other sums of the same numbers."""
    assert not [name for name, text in rules().items() if "{threads}" in text]
