# What the rules ask of the configuration. The science is in pipeline/.

import csv
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, workflow.basedir)

from pipeline import code, configuration
from pipeline.errors import InputError
from pipeline.tables.cells import cells

try:
    SETTINGS = configuration.load(config, Path(workflow.basedir, "config"))
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
    captions="human|human[+]mt|mt",
    experiment="[a-z0-9+-]+",
    queries="own|translated",


def datasets_from(*sources):
    """Pattern of the data sets that have one of the sources; one that matches nothing if none has."""
    return (
        "|".join(name for name, data in DATASETS.items() if data["source"] in sources)
        or "(?!)"
    )


def growing(amount):
    """Megabytes or minutes of a job that is tried again with more of them."""
    return lambda wildcards, attempt: amount * attempt


def given(value):
    """A file of the configuration, or a text, as a list: empty where it is null or empty."""
    return [value] if value else []


def as_json(values):
    """Settings as the stages take them."""
    return json.dumps(values, ensure_ascii=False)
