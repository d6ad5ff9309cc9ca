# The configuration, and functions shared by all rules. The science is in pipeline/.

import contextlib
import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import snakemake.cli
from snakemake.iocontainers import Wildcards

sys.path.insert(0, workflow.basedir)

# Jobs run the Python that runs Snakemake, also where its environment is not active; on a cluster's nodes too, which
# read this file before their job. A conda environment, where one is asked for, comes before it.
os.environ.update(
    PATH=os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()])
)

from pipeline import digest as code

from pipeline import settings as configuration

from pipeline import edited

from pipeline import registry as parts
from pipeline.common.block import Block
from pipeline.common.errors import InputError, raise_together
from pipeline.tables.cells import cells

# The code that this run began with; a job of a queue reads these files anew, and must not plan with edited code.
CODE_OF_RUN = Path(".snakemake", "code.json")

if workflow.is_main_process:
    os.environ[edited.VARIABLE] = edited.snapshot()
else:
    code.plan_with(CODE_OF_RUN)

CONFIG = Path(workflow.basedir, "config")

# Where all files lie in a bucket (profiles/kubernetes), none of the user's is read before a job.
IN_BUCKET = bool(workflow.storage_settings.default_storage_provider)

# Checks that are made before the first job are not repeated in every job of a cluster.
HERE = workflow.is_main_process and not IN_BUCKET

try:
    configuration.check_keys(workflow.configfiles)
    SETTINGS = configuration.load(config, CONFIG)
    if HERE:
        configuration.check_paths(
            SETTINGS, configuration.usual_sources(SETTINGS.scale, CONFIG)
        )
except InputError as error:
    sys.exit(f"error: {error}")

SCALE = SETTINGS.scale
DATASETS = SETTINGS.datasets
TABLES = SETTINGS.tables
STAND_INS = SETTINGS.stand_ins

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
    queries="original|translated",
    consistency="average|learned",
    reduction=r"(frequency|pca|dictionary)-\d+",


def refuse(message):
    """End Snakemake with a message about the configuration.

    A WorkflowError would be lost where an older result exists: Snakemake would take that for the one asked for.
    """
    sys.exit(f"error: {message}")


# Links to the files that the jobs of this call will make anew, until it ends.
EARLIER = Path(".snakemake", "earlier")


def keep_earlier(persistence):
    """Link to everything that will be replaced; Snakemake deletes it before its job starts."""
    shutil.rmtree(EARLIER, ignore_errors=True)
    for job in persistence.dag.needrun_jobs():
        for path in filter(os.path.exists, job.output):
            if not os.path.isabs(path):
                link_all(path, EARLIER / path)


def restore_earlier(persistence):
    """Restore the outputs of failed jobs as they were, and mark all unfinished jobs to be run again.

    Snakemake 9 records the new inputs and settings of a job that fails as if it had finished, and deletes its outputs.
    A missing file that later results were made of, or one without a record, it takes for no reason to run the job: it
    would find nothing to be done, and the old results would pass for new. Outputs that are marked as incomplete are made
    again by the next call (`rerun-incomplete` in the profiles).
    """
    for job in persistence.dag.needrun_jobs():
        for path in job.output:
            if not os.path.exists(path) and os.path.exists(EARLIER / path):
                link_all(EARLIER / path, path)
        persistence.started(job)
    shutil.rmtree(EARLIER, ignore_errors=True)


def link_all(path, other):
    """Make `other` the same file, or a folder of the same files; copies on a disk without links."""
    Path(other).parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        if os.path.isdir(path):
            shutil.copytree(path, other, copy_function=linked_or_copied)
        else:
            linked_or_copied(path, other)


def linked_or_copied(path, other):
    try:
        os.link(path, other)
    except OSError:
        shutil.copy2(path, other)


@cache
def cells_of_table(table):
    """The cells of a table, as this configuration fills them."""
    return list(cells(configuration.table_settings(SETTINGS, table)))


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


def files_of(folder, named="*"):
    """The files in a folder, whose own time does not tell that one was overwritten; none where it is no folder."""
    return sorted(str(path) for path in Path(folder).glob(named) if path.is_file())


def as_json(values):
    """Settings as the stages take them."""
    if isinstance(values, Block):
        return values.as_json()
    return json.dumps(values, ensure_ascii=False)
