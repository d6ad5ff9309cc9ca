# The configuration, and functions shared by all rules. The science is in pipeline/.

import contextlib
import csv
import json
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import snakemake.cli
from snakemake.iocontainers import Wildcards

sys.path.insert(0, workflow.basedir)

from pipeline import code, configuration, parts
from pipeline.errors import InputError, raise_together
from pipeline.tables.cells import cells

CONFIG = Path(workflow.basedir, "config")

# Not again in every job of a cluster, nor where all files lie in a bucket (profiles/kubernetes).
HERE = (
    workflow.is_main_process and not workflow.storage_settings.default_storage_provider
)

try:
    configuration.check_keys(workflow.configfiles)
    SETTINGS = configuration.load(config, CONFIG)
    if HERE:
        configuration.check_paths(
            SETTINGS,
            configuration.read(CONFIG / "scales" / f"{SETTINGS['scale']}.yaml"),
        )
except InputError as error:
    sys.exit(f"error: {error}")

SCALE = SETTINGS["scale"]
DATASETS = SETTINGS["datasets"]
TABLES = SETTINGS["tables"]
STAND_INS = configuration.stand_ins(SETTINGS)

with open(Path(workflow.basedir, "workflow", "sources.csv"), encoding="utf-8") as file:
    SOURCES = {row["file"]: row for row in csv.DictReader(file)}


wildcard_constraints:
    scale=SCALE,
    dataset="|".join(DATASETS),
    language="[a-z]{2}",
    source="[a-z]{2}",
    target="[a-z]{2}",
    seed=r"\d+",
    captions="human|human[+]mt|mt|augmented",
    experiment="[a-z0-9+-]+",
    queries="own|translated",
    consistency="average|learned",
    reduction=r"(frequency|pca|dictionary)-\d+",


def refuse(message):
    """End Snakemake with a message about the configuration.

    A WorkflowError would be lost where an older result exists: Snakemake would take that for the one asked for.
    """
    sys.exit(f"error: {message}")


# Links to the files that the jobs of this call will make anew, until it ends.
EARLIER = Path(".snakemake", "earlier")


def outputs_to_make(persistence):
    """Every output of the jobs of this call."""
    return [path for job in persistence.dag.needrun_jobs() for path in job.output]


def keep_earlier(persistence):
    """Link to every file that will be replaced; Snakemake deletes it before its job starts."""
    shutil.rmtree(EARLIER, ignore_errors=True)
    for path in outputs_to_make(persistence):
        kept = EARLIER / path
        if os.path.isfile(path) and not os.path.isabs(path):
            kept.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # a disk without links
                os.link(path, kept)


def restore_earlier(persistence):
    """Restore the outputs of failed jobs as they were, and mark those jobs to be run again.

    Snakemake 9 records the new inputs and settings of a job that fails as if it had finished, and then deletes its
    outputs. Where later results exist the next call would find nothing to be done, and the old ones would pass for new.
    """
    for path in outputs_to_make(persistence):
        if os.path.exists(path):
            continue
        persistence.cleanup_metadata(path)
        if (EARLIER / path).is_file():
            with contextlib.suppress(OSError):
                os.link(EARLIER / path, path)
    shutil.rmtree(EARLIER, ignore_errors=True)


def datasets_from(*sources):
    """Pattern of the data sets that have one of the sources; one that matches nothing if none has."""
    return (
        "|".join(name for name, data in DATASETS.items() if data["source"] in sources)
        or "(?!)"
    )


def growing(amount):
    """Megabytes or minutes of a job, which is retried with more of them."""
    return lambda wildcards, attempt: amount * attempt


def given(value):
    """An optional file or text as a list, empty if it is null or empty."""
    return [value] if value else []


def as_json(values):
    """Settings as the stages take them."""
    return json.dumps(values, ensure_ascii=False)
